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

	"matrix-tui/state/sentence"
)

// The files of a room whose container is recreated still belong to its root, whatever slots other rooms took in the
// meantime.
func TestSlotIsKept(t *testing.T) {
	if rootless(t) {
		t.Skip("with rootless podman, rooms have no slots")
	}
	spec := testSpec(t)
	container := ensure(t, spec)
	slot := labelOf(t, workspaceVolume(spec.Room), labelSlot)
	if err := testRooms.Remove(t.Context(), container.Name, container.Room, ""); err != nil {
		t.Fatal(err)
	}
	other := ensure(t, testSpec(t))
	again := ensure(t, spec)
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

// Rooms whose volumes are created at the same moment have a slot each.
func TestSlotsAtOnce(t *testing.T) {
	if rootless(t) {
		t.Skip("with rootless podman, rooms have no slots")
	}
	var creating sync.WaitGroup
	rooms := make([]string, 10)
	for i := range rooms {
		rooms[i] = testRoom(t)
		creating.Go(func() {
			if _, _, err := testPodman.volumes.ensure(t.Context(), rooms[i]); err != nil {
				t.Error(err)
			}
		})
	}
	creating.Wait()
	slots := map[string]bool{}
	for _, room := range rooms {
		slots[labelOf(t, workspaceVolume(room), labelSlot)] = true
	}
	if len(slots) != len(rooms) {
		t.Errorf("%d slots for %d rooms", len(slots), len(rooms))
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
