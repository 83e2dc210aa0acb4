package sandbox

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/specgen"

	"matrix-tui/state/roomname"
	"matrix-tui/state/sentence"
)

func TestEnsureCreatesStartsReconnects(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	if !container.Created || !container.Started || container.Name != NameFor(spec.Room) || container.Room != spec.Room || container.ID == "" {
		t.Errorf("first: %+v", container)
	}
	again := ensure(t, spec)
	if again.Created || again.Started || again.ID != container.ID {
		t.Errorf("running: %+v", again)
	}
	if err := testRooms.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Fatal(err)
	}
	if err := testRooms.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Error("stopped already:", err)
	}
	if _, err := container.Exec(t.Context(), Cmd{Argv: []string{"true"}}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("exec in a stopped container: %v, want ErrNotRunning", err)
	}
	started := ensure(t, spec)
	if started.Created || !started.Started || started.ID != container.ID {
		t.Errorf("stopped: %+v", started)
	}
	pause(t, container)
	if resumed := ensure(t, spec); resumed.ID != container.ID {
		t.Errorf("paused: %+v", resumed)
	}
	sh(t, container, "true")
}

// A recreated container finds its files, and they still belong to its root, whatever slots other rooms took in the
// meantime.
func TestEnsureOnOldVolumes(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	sh(t, container, "echo work > /workspace/file; echo session > /root/file; chown 1000:1000 /workspace/file")
	slot := labelOf(t, workspaceVolume(spec.Room), labelSlot)
	if err := testRooms.Remove(t.Context(), container.Name, container.Room, ""); err != nil {
		t.Fatal(err)
	}
	if err := testRooms.Remove(t.Context(), container.Name, container.Room, ""); err != nil {
		t.Errorf("removed again: %v", err)
	}
	other := ensure(t, testSpec(t))
	again := ensure(t, spec)
	if !again.Created || again.ID == container.ID {
		t.Errorf("%+v", again)
	}
	if got := sh(t, again, "cat /workspace/file /root/file; stat -c '%u' /workspace /root /root/file /workspace/file"); got != "work\nsession\n0\n0\n0\n1000" {
		t.Errorf("found %q", got)
	}
	if rootless(t) {
		return
	}
	if now := labelOf(t, homeVolume(spec.Room), labelSlot); now != slot {
		t.Errorf("slot %s, want %s as before", now, slot)
	}
	if otherSlot := labelOf(t, workspaceVolume(other.Room), labelSlot); otherSlot == slot {
		t.Error("two rooms share a slot")
	}
	n, _ := strconv.Atoi(slot)
	want := strings.Join([]string{"0", strconv.Itoa(firstID + n*idsPerSlot), "65536"}, " ")
	if got := strings.Join(strings.Fields(sh(t, again, "cat /proc/self/uid_map")), " "); got != want {
		t.Errorf("uid map %q, want %q", got, want)
	}
}

// A room that replaced another works on the other's volumes, in its own container.
func TestEnsureOnVolumesOfAnother(t *testing.T) {
	spec := testSpec(t)
	old := ensure(t, spec)
	sh(t, old, "echo work > /workspace/file")
	if err := testRooms.Stop(t.Context(), old.Name, old.Room); err != nil {
		t.Fatal(err)
	}
	next := testSpec(t)
	next.VolumesOf = spec.Room
	container := ensure(t, next)
	if got := sh(t, container, "cat /workspace/file; stat -c %u /workspace/file"); got != "work\n0" || container.ID == old.ID || container.Name != NameFor(next.Room) {
		t.Errorf("found %q, container %+v", got, container)
	}
}

func labelOf(t *testing.T, volume, label string) string {
	t.Helper()
	data, err := volumes.Inspect(testPodman.with(t.Context()), volume, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data.Labels[label]
}

// A container that cannot start is replaced, on its volumes.
func TestEnsureReplacesBroken(t *testing.T) {
	spec := testSpec(t)
	testDoors.all.Delete(spec.Room)
	container := ensure(t, spec)
	sh(t, container, "echo kept > /workspace/file")
	if err := testRooms.Remove(t.Context(), container.Name, container.Room, ""); err != nil {
		t.Fatal(err)
	}
	broken := specgen.NewSpecGenerator(testImage, false)
	broken.Name = NameFor(spec.Room)
	broken.Labels = map[string]string{labelRoom: spec.Room}
	broken.Entrypoint = []string{"/no/such/program"}
	if _, err := containers.CreateWithSpec(testPodman.with(t.Context()), broken, nil); err != nil {
		t.Fatal(err)
	}
	again := ensure(t, spec)
	if got := sh(t, again, "cat /workspace/file"); got != "kept" || !again.Created {
		t.Errorf("file holds %q, container %+v", got, again)
	}
}

func TestEnsureImageMissing(t *testing.T) {
	spec := testSpec(t)
	spec.Image = "localhost/no-such-image:latest"
	_, err := testRooms.Ensure(t.Context(), spec)
	if !errors.Is(err, ErrImageMissing) || !strings.Contains(sentence.Text(err), "deploy/image/build") {
		t.Errorf("%v, want ErrImageMissing", err)
	}
	if _, err := volumes.Inspect(testPodman.with(t.Context()), workspaceVolume(spec.Room), nil); err == nil {
		t.Error("a volume was created")
	}
}

func TestEnsureByGivenName(t *testing.T) {
	spec := testSpec(t)
	spec.Name = "test-sandbox-given-" + roomname.Short(spec.Room)
	t.Cleanup(func() { sweep(t, testPodman, spec.Room, spec.Name) })
	container := ensure(t, spec)
	if container.Name != spec.Name {
		t.Errorf("name %s", container.Name)
	}
	list, err := testRooms.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, info := range list {
		if info.Room == spec.Room {
			found++
			if info.ID != container.ID || info.Name != spec.Name || info.State != "running" || info.Image != testImage || info.Created.IsZero() {
				t.Errorf("listed %+v", info)
			}
		}
	}
	if found != 1 {
		t.Errorf("listed %d times", found)
	}
}

// Ten rooms at once, each requested twice at once: one container and one slot each.
func TestEnsureConcurrently(t *testing.T) {
	const rooms = 10
	var wg sync.WaitGroup
	containers := make([][2]*Container, rooms)
	for i := range rooms {
		spec := testSpec(t)
		for j := range 2 {
			wg.Go(func() {
				container, err := testRooms.Ensure(t.Context(), spec)
				if err != nil {
					t.Error(err)
					return
				}
				containers[i][j] = container
				if _, err := container.StartRun(t.Context(), RunSpec{ID: "once", Argv: []string{"sh", "-c", "echo ran >> /workspace/ran; cat /workspace/ran"}}); err != nil {
					t.Error(err)
				}
				var out strings.Builder
				if _, err := container.FollowRun(t.Context(), "once", 0, &out); err != nil || out.String() != "ran\n" {
					t.Errorf("%q, %v", out.String(), err)
				}
			})
		}
	}
	wg.Wait()
	ids, slots := make(map[string]bool), make(map[string]bool)
	for _, pair := range containers {
		if pair[0] == nil || pair[1] == nil || pair[0].ID != pair[1].ID {
			t.Fatalf("%+v", pair)
		}
		ids[pair[0].ID] = true
		slots[labelOf(t, workspaceVolume(pair[0].Room), labelSlot)] = true
	}
	if len(ids) != rooms || !rootless(t) && len(slots) != rooms {
		t.Errorf("%d containers, %d slots for %d rooms", len(ids), len(slots), rooms)
	}
}

// The container as seen from inside.
func TestContainerIsClosed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.invalid")
	container := testContainer(t)
	env := sh(t, container, "cat /proc/1/environ | tr '\\0' '\\n'; env")
	for _, bad := range []string{"proxy", "PROXY"} {
		if strings.Contains(env, bad) {
			t.Errorf("environment holds %s:\n%s", bad, env)
		}
	}
	checks := map[string]string{
		"ls /sys/class/net":              "lo",
		"pwd":                            "/workspace",
		"tr '\\0' ' ' < /proc/1/cmdline": "/usr/bin/boxinit",
		"sed -n 's/^NoNewPrivs:\\t//p' /proc/1/status":                 "1",
		"sed -n 's/^CapEff:\\t//p' /proc/1/status":                     "00000000000000eb",
		"sed -n 's/^CapBnd:\\t//p' /proc/1/status":                     "00000000000000eb",
		"sed -n 's/^Max processes *//p' /proc/self/limits | tr -s ' '": "4096 4096 processes",
		"ulimit -Hn":                             "4096",
		"touch /run/gateway/x 2>&1 | tail -c 22": "Read-only file system",
		"cat /proc/sys/kernel/hostname":          "sandbox",
	}
	for script, want := range checks {
		if got := sh(t, container, script); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	host, err := os.Readlink("/proc/self/ns/ipc")
	if got := sh(t, container, "ls -l /proc/self/ns/ipc | sed 's/.*-> //'"); err != nil || got == host {
		t.Errorf("IPC namespace %q, the host's is %q, %v", got, host, err)
	}
}
