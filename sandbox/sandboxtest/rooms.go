package sandboxtest

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/roomname"
)

// ensuredAgain: a container is created, found running, started, or resumed.
func ensuredAgain(t *testing.T, s *Site) {
	spec := s.newRoom(t)
	c := s.ensure(t, spec)
	if !c.Created || !c.Started || c.Name != sandbox.NameFor(spec.Room) || c.Room != spec.Room || c.ID == "" {
		t.Errorf("first: %+v", c)
	}
	if again := s.ensure(t, spec); again.Created || again.Started || again.ID != c.ID {
		t.Errorf("running: %+v", again)
	}
	s.stop(t, c)
	if err := s.Rooms.Stop(t.Context(), c.Name, c.Room); err != nil {
		t.Error("stopped already:", err)
	}
	if _, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"true"}}); !errors.Is(err, sandbox.ErrNotRunning) {
		t.Errorf("exec in a stopped container: %v, want ErrNotRunning", err)
	}
	if again := s.ensure(t, spec); again.Created || !again.Started || again.ID != c.ID {
		t.Errorf("stopped: %+v", again)
	}
	if s.Pause != nil {
		s.Pause(t, c)
		if again := s.ensure(t, spec); again.ID != c.ID {
			t.Errorf("paused: %+v", again)
		}
	}
	Sh(t, c, "true")
}

// removed: without its volumes, a room has a new container with its files and their owners; with them, it has nothing.
// Another room's container stays.
func removed(t *testing.T, s *Site) {
	spec := s.newRoom(t)
	c := s.ensure(t, spec)
	Sh(t, c, "echo work > /workspace/file; echo session > /root/file; chown 1000:1000 /workspace/file")
	if err := s.Rooms.Remove(t.Context(), c.Name, Room("other"), ""); err != nil {
		t.Error(err)
	}
	if still := s.ensure(t, spec); still.Created || still.Started {
		t.Error("another room's container was removed with it")
	}
	for range 2 { // nothing is left to remove the second time
		s.remove(t, c, "")
	}
	if !s.hasVolumes(t, spec.Room) {
		t.Error("the volumes went with the container")
	}
	again := s.ensure(t, spec)
	if got := Sh(t, again, "cat /workspace/file /root/file; stat -c '%u' /workspace /root /root/file /workspace/file"); !again.Created ||
		got != "work\nsession\n0\n0\n0\n1000" {
		t.Errorf("created %v, found %q", again.Created, got)
	}
	for range 2 {
		s.remove(t, again, spec.Room)
	}
	if s.hasVolumes(t, spec.Room) {
		t.Error("the volumes are still there")
	}
	again = s.ensure(t, spec)
	if got := Sh(t, again, "ls /workspace /root"); !again.Created || got != "/root:\n\n/workspace:" {
		t.Errorf("invited again, the room has old files: created %v, %q", again.Created, got)
	}
}

// volumesOfAnother: a room that replaced another works on the other's volumes, in its own container.
func volumesOfAnother(t *testing.T, s *Site) {
	spec, next := s.newRoom(t), s.newRoom(t)
	old := s.ensure(t, spec)
	Sh(t, old, "echo work > /workspace/file")
	s.stop(t, old)
	next.VolumesOf = spec.Room
	c := s.ensure(t, next)
	if got := Sh(t, c, "cat /workspace/file; stat -c %u /workspace/file"); got != "work\n0" || c.ID == old.ID || c.Name != sandbox.NameFor(next.Room) {
		t.Errorf("found %q, container %+v", got, c)
	}
}

// givenName: a container is listed with the name that it was given.
func givenName(t *testing.T, s *Site) {
	spec := s.newRoom(t)
	spec.Name = "Test-sandbox-given-" + roomname.Short(spec.Room)
	c := s.ensure(t, spec)
	defer s.remove(t, c, "")
	info := s.info(t, spec.Room)
	if c.Name != spec.Name || info.ID == "" || info.Name != spec.Name || info.State != "running" || info.Image != spec.Image || info.Created.IsZero() || info.Started.IsZero() {
		t.Errorf("name %s, listed %+v", c.Name, info)
	}
}

// atOnce is how many rooms start at the same moment.
const atOnce = 6

// manyAtOnce: rooms that are each requested twice at once have one container each.
func manyAtOnce(t *testing.T, s *Site) {
	var running sync.WaitGroup
	containers := make([][2]*sandbox.Container, atOnce)
	for i := range containers {
		spec := s.newRoom(t)
		for j := range containers[i] {
			running.Go(func() {
				c, err := s.Rooms.Ensure(t.Context(), spec)
				if err != nil {
					t.Error(err)
					return
				}
				containers[i][j] = c
				if _, err := c.StartRun(t.Context(), sandbox.RunSpec{ID: "once", Argv: []string{"sh", "-c", "echo ran >> /workspace/ran; cat /workspace/ran"}}); err != nil {
					t.Error(err)
				}
				var out strings.Builder
				if _, err := c.FollowRun(t.Context(), "once", 0, &out); err != nil || out.String() != "ran\n" {
					t.Errorf("%q, %v", out.String(), err)
				}
			})
		}
	}
	running.Wait()
	ids := map[string]bool{}
	for _, pair := range containers {
		if pair[0] == nil || pair[1] == nil || pair[0].ID != pair[1].ID {
			t.Fatalf("%+v", pair)
		}
		ids[pair[0].ID] = true
	}
	if len(ids) != atOnce {
		t.Errorf("%d containers for %d rooms", len(ids), atOnce)
	}
}

// unused: the container of an idle room is stopped, and the next sign of life starts it again.
func unused(t *testing.T, s *Site) {
	spec, rooms := s.newRoom(t), s.Rooms
	c := s.ensure(t, spec)
	Sh(t, c, "echo kept > /etc/kept; echo kept > /workspace/kept")
	stop := func(since time.Time) bool {
		t.Helper()
		stopped, err := rooms.StopUnused(t.Context(), c.Name, c.Room, since)
		if err != nil {
			t.Fatal(err)
		}
		return stopped
	}
	if last, busy := rooms.LastUse(c.Name); busy || time.Since(last) > hung || stop(last.Add(-time.Second)) {
		t.Errorf("stopped although it was used after that; last use %v, busy %v", last, busy)
	}
	release := rooms.Hold(c.Name)
	if stop(time.Now().Add(time.Hour)) {
		t.Error("stopped in the middle of a task")
	}
	release()
	start(t, c, "long", "while [ ! -e /workspace/end ]; do sleep 0.02; done")
	followed := make(chan error, 1)
	go func() {
		_, err := c.FollowRun(t.Context(), "long", 0, io.Discard)
		followed <- err
	}()
	Until(t, "the run is being followed", func() bool { _, busy := rooms.LastUse(c.Name); return busy })
	if stop(time.Now().Add(time.Hour)) {
		t.Error("stopped during a run")
	}
	Sh(t, c, "touch /workspace/end")
	if err := <-followed; err != nil {
		t.Fatal(err)
	}
	if !stop(time.Now()) {
		t.Error("an unused container was not stopped")
	}
	if rooms.Answering(t.Context(), spec.Room) != nil {
		t.Error("a stopped container answers")
	}
	if got := s.info(t, spec.Room); got.State != "exited" || s.Layer && got.Started.IsZero() {
		t.Errorf("after the stop: %+v", got)
	}
	if !stop(time.Now()) {
		t.Error("a stopped container is not reported as stopped")
	}
	again := s.ensure(t, spec)
	s.answers(t, again)
	if again.Created || !again.Started || again.ID != c.ID {
		t.Errorf("the next Ensure: %+v", again)
	}
	want := "kept"
	if s.Layer {
		want = "kept\nkept"
	}
	if got := Sh(t, again, "cat /workspace/kept; cat /etc/kept 2>/dev/null || true"); got != want {
		t.Errorf("files afterwards: %q", got)
	}
	if stopped, err := rooms.StopUnused(t.Context(), "sandbox-nobody-00000000", "!nobody", time.Now()); err != nil || !stopped {
		t.Errorf("a container that does not exist: %v, %v", stopped, err)
	}
}
