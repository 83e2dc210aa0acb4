package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"golang.org/x/sys/unix"
)

// A container of which podman has removed the files before it was killed is removed for good, and another one is created on
// the room's volumes.
func TestHalfRemoved(t *testing.T) {
	info, err := needPodman(t).info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Store.GraphDriverName != "overlay" {
		skipHost(t, "podman's storage driver is "+info.Store.GraphDriverName)
	}
	root := t.TempDir()
	t.Cleanup(func() {
		until(t, "nothing uses the storage", func() bool { return killBelow(t, root) })
		unmountBelow(t, root)
	})
	service := startService(t, "--root", root, "--runroot", t.TempDir(), "--storage-driver", "overlay", "--storage-opt", "overlay.imagestore="+info.Store.GraphRoot)
	r := service.connect()
	p := r.Engine.(*Podman)
	spec := testSpec(t)
	spec.Name = NameFor(spec.Room)
	container, err := r.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweep(t, p, spec.Room, spec.Name) })
	sh(t, container, "echo kept > /workspace/note")
	halve := func() {
		t.Helper()
		if err := r.Stop(t.Context(), spec.Name, spec.Room); err != nil {
			t.Fatal(err)
		}
		service.kill()
		path := filepath.Join(root, "overlay-containers", "containers.json")
		data, err := os.ReadFile(path)
		var list []map[string]any
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err = json.Marshal(slices.DeleteFunc(list, func(c map[string]any) bool { return c["id"] == container.ID }))
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		service.start()
		if _, err := containers.Inspect(p.with(t.Context()), container.ID, nil); err == nil {
			t.Fatal("podman still knows the container")
		}
	}
	halve()
	before := container.ID
	if container, err = r.Ensure(t.Context(), spec); err != nil || !container.Created || container.ID == before {
		t.Fatalf("%+v, %v", container, err)
	}
	if got := sh(t, container, "cat /workspace/note"); got != "kept" {
		t.Errorf("/workspace/note has %q", got)
	}
	halve()
	if err := r.Remove(t.Context(), spec.Name, spec.Room, ""); err != nil {
		t.Error(err)
	}
	if left, err := p.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
}

// A container that goes on although podman has removed its files ends, and another one takes its place.
func TestRemovedFiles(t *testing.T) {
	spec := testSpec(t)
	gatewayFor(t, testRooms, spec.Room)
	container := ensure(t, spec)
	until(t, "the container offers a connection", func() bool { return offered(testRooms, spec.Room) })
	data, err := containers.Inspect(testPodman.with(t.Context()), container.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	upper := data.GraphDriver.Data["UpperDir"]
	if data.GraphDriver.Name != "overlay" || upper == "" {
		skipHost(t, "podman's storage driver is "+data.GraphDriver.Name)
	}
	if err := os.RemoveAll(upper); err != nil {
		t.Fatal(err)
	}
	ensure(t, spec) // on the connection that it has offered
	until(t, "the container has ended", func() bool {
		data, err := containers.Inspect(testPodman.with(t.Context()), container.ID, nil)
		return err == nil && !data.State.Running
	})
	if err := testRooms.Remove(t.Context(), container.Name, container.Room, ""); err != nil {
		t.Fatal(err)
	}
	if next := ensure(t, spec); next.ID == container.ID {
		t.Error("no other container")
	}
}

// killBelow kills every process that was started with the storage, and reports whether there was none. Some time after a
// command in a container has ended, conmon runs podman to clean up, and that creates the storage's folders again.
func killBelow(t *testing.T, root string) (none bool) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	none = true
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), "\x00"+root+"\x00") {
			continue // an error: it has ended
		}
		none = false
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return none
}

// unmountBelow unmounts what podman has mounted in its storage, which would keep that from being removed.
func unmountBelow(t *testing.T, root string) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Error(err)
	}
	for _, line := range slices.Backward(strings.Split(string(data), "\n")) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], root+"/") {
			_ = unix.Unmount(fields[4], unix.MNT_DETACH)
		}
	}
}
