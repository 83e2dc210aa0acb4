package sandboxtest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"matrix-tui/sandbox"
)

// Site is an engine, with rooms whose containers offer connections.
type Site struct {
	Rooms *sandbox.Rooms
	// Spec returns a container of 256 MiB for a room, and opens a gateway for it. Nothing of the room is left after the
	// test.
	Spec func(t testing.TB, room string) sandbox.Spec
	// Most is how many containers may run at a time.
	Most int64
	// Foreign creates a container that belongs to another room, "" = to none, and ForeignVolume a volume that belongs to
	// none. What they return reports whether that is still as it was.
	Foreign       func(t *testing.T, name, owner string) (there func() bool)
	ForeignVolume func(t *testing.T, name string) (there func() bool)

	// What follows differs by design: podman has all of it, a cluster nothing, and the cases leave it out.

	// Layer: a stopped container keeps what is outside of its volumes, and its records of runs are there, too. A pod that
	// is stopped is gone; the next one begins with the image, and the records of runs are on a volume.
	Layer bool
	// ParkedFirst: if memory runs out, what is parked is killed first. In a pod, Kubernetes gives every process nearly the
	// highest oom_score_adj, and nothing in it may lower one: the kernel kills what is largest.
	ParkedFirst bool
	// OwnKernel: the container has a kernel of its own. If memory runs out, that ends, and begins again.
	OwnKernel bool
	// Pause pauses a container. Kubernetes cannot do that.
	Pause func(t testing.TB, c *sandbox.Container)
	// Beside leads into a container beside the connections that it offers. Who may execute something in pods gets at every
	// secret that is in one, so the bot may not.
	Beside func(c *sandbox.Container) *sandbox.Container

	// What is not here is tested in package sandbox, or in sandbox/kube. Images have IDs with podman, so that a name can
	// come to mean another one. A room's processes are limited; in a cluster, the nodes limit them. Podman reads from a
	// stopped container what was installed in it, and a new pod from a copy on its volume. Podman copies volumes at any
	// time, and in a cluster a bot in maintenance does.
}

// contract is what every engine and its containers promise. Each part has that many rooms at a time.
var contract = []struct {
	name  string
	rooms int64
	check func(t *testing.T, s *Site)
}{
	{"interrupted", 1, interrupted}, // the first two take longest
	{"ensured again", 1, ensuredAgain},
	{"many at once", atOnce, manyAtOnce},
	{"same name", 2, sameName},
	{"volumes of another", 2, volumesOfAnother},
	{"unused", 1, unused},
	{"removed", 1, removed},
	{"given name", 1, givenName},
	{"foreign container", 1, foreign},
	{"foreign volume", 1, foreignVolume},
	{"little memory", 1, inRoom(func(s *sandbox.Spec) { s.Memory = 64 << 20 },
		part{"out of memory", outOfMemory},
		part{"parked out of memory", parkedOutOfMemory},
	)},
	{"runs", 1, inRoom(nil,
		part{"attached", attached},
		part{"started", started},
		part{"followed at once", followedAtOnce},
		part{"followed again", followedAgain},
		part{"much output", muchOutput},
		part{"started once", startedOnce},
		part{"refused", refused},
		part{"long argument", longArgument},
		part{"files", runFiles},
		part{"without files", withoutFiles},
		part{"output not wanted", outputNotWanted},
		part{"parked", parked},
	)},
	// More processes than one that goes on forking can start before a slow host stops it.
	{"ends of runs", 1, inRoom(func(s *sandbox.Spec) { s.PIDs = 4096 },
		part{"no zombies", noZombies},
		part{"supervisor killed", supervisorKilled},
		part{"stopped", stopped},
		part{"restarted", restarted},
	)},
	{"commands and files", 1, inRoom(nil,
		part{"exec", execs},
		part{"exec fails", execFails},
		part{"files", files},
		part{"browsed", browsed},
		part{"dialled", dialled},
		part{"odd offers", oddOffers},
		part{"at the same time", sameTime},
	)},
}

// Check checks the contract of an engine.
func Check(t *testing.T, s Site) {
	places := semaphore.NewWeighted(s.Most)
	var running sync.WaitGroup
	defer running.Wait()
	for _, c := range contract {
		if err := places.Acquire(t.Context(), c.rooms); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			defer places.Release(c.rooms)
			t.Run(c.name, func(t *testing.T) { c.check(t, &s) })
		})
	}
}

// part is one of those that share a room.
type part struct {
	name  string
	check func(t *testing.T, s *Site, c *sandbox.Container)
}

// inRoom runs parts one after the other, each with an empty workspace.
func inRoom(change func(*sandbox.Spec), parts ...part) func(*testing.T, *Site) {
	return func(t *testing.T, s *Site) {
		spec := s.newRoom(t)
		if change != nil {
			change(&spec)
		}
		c := s.ensure(t, spec)
		s.answers(t, c)
		for _, p := range parts {
			Sh(t, c, "find /workspace -mindepth 1 -maxdepth 1 -exec rm -r {} +")
			t.Run(p.name, func(t *testing.T) { p.check(t, s, c) })
		}
	}
}

func (s *Site) newRoom(t testing.TB) sandbox.Spec {
	t.Helper()
	return s.Spec(t, Room("engine"))
}

// ensure returns the container of the spec.
func (s *Site) ensure(t testing.TB, spec sandbox.Spec) *sandbox.Container {
	t.Helper()
	c, err := s.Rooms.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answers waits until a container offers a connection.
func (s *Site) answers(t testing.TB, c *sandbox.Container) {
	t.Helper()
	Until(t, "the container offers a connection", func() bool { return s.Rooms.Answering(t.Context(), c.Room) != nil })
}

// stop stops a container.
func (s *Site) stop(t testing.TB, c *sandbox.Container) {
	t.Helper()
	if err := s.Rooms.Stop(t.Context(), c.Name, c.Room); err != nil {
		t.Fatal(err)
	}
}

// remove removes a container and, unless volumesOf is "", the volumes of that room.
func (s *Site) remove(t testing.TB, c *sandbox.Container, volumesOf string) {
	t.Helper()
	if err := s.Rooms.Remove(t.Context(), c.Name, c.Room, volumesOf); err != nil {
		t.Fatal(err)
	}
}

// hasVolumes reports whether a room has volumes.
func (s *Site) hasVolumes(t testing.TB, room string) bool {
	t.Helper()
	there, err := s.Rooms.HasVolumes(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// info is what the engine lists of a room.
func (s *Site) info(t testing.TB, room string) (found sandbox.Info) {
	t.Helper()
	list, err := s.Rooms.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, info := range list {
		if info.Room == room {
			found = info
			n++
		}
	}
	if n != 1 {
		t.Fatalf("room %s is listed %d times", room, n)
	}
	return found
}

// hung is how long a test waits for something that must happen: far longer than it takes on the busiest host.
const hung = 5 * time.Minute

// Until waits for something that another process does.
func Until(t testing.TB, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(hung); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if true() {
			return
		}
	}
	t.Fatalf("not within %v: %s", hung, what)
}

// Sh runs a shell script in a container and returns its output; it fails the test if the script fails.
func Sh(t testing.TB, c *sandbox.Container, script string) string {
	t.Helper()
	result, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"/bin/sh", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	if result.Code != 0 {
		t.Fatalf("%s: exit code %d: %s", script, result.Code, result.Stderr)
	}
	return strings.TrimSpace(string(result.Stdout))
}
