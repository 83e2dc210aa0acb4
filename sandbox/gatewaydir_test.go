package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// A stopped container starts after the gateway's directory was removed and made again, as after a reboot.
func TestEnsureRemadeGatewayDirectory(t *testing.T) {
	spec := testSpec(t)
	container := ensure(t, spec)
	if err := testRooms.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Fatal(err)
	}
	dir := remakeFolder(t, spec.Room)
	if again := ensure(t, spec); again.ID != container.ID {
		t.Error("the container was recreated")
	}
	if err := os.WriteFile(filepath.Join(dir, "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, container, "test -e /run/gateway/seen")
}

// A container whose gateway directory has moved is connected to the new one.
func TestEnsureMovedGateway(t *testing.T) {
	spec := testSpec(t)
	old := ensure(t, spec)
	sh(t, old, "echo kept > /workspace/file")
	testDoors.move(t, spec.Room)
	container := ensure(t, spec)
	if !container.Created || container.ID == old.ID {
		t.Errorf("%+v", container)
	}
	if got := sh(t, container, "cat /workspace/file"); got != "kept" {
		t.Errorf("file holds %q", got)
	}
}

// A running container whose gateway directory was removed and created again is connected to the new one: until then it
// mounts the old directory.
func TestEnsureReplacedGateway(t *testing.T) {
	spec := testSpec(t)
	old := ensure(t, spec)
	dir := remakeFolder(t, spec.Room)
	testRooms.ensured.Delete(spec.Room)
	container := ensure(t, spec)
	if container.Created || !container.Started || container.ID != old.ID {
		t.Errorf("%+v", container)
	}
	if err := os.WriteFile(filepath.Join(dir, "seen"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, container, "test -e /run/gateway/seen")
	if again := ensure(t, spec); again.Started {
		t.Error("a connected container was restarted")
	}
}

// remakeFolder makes the folder of a room's gateway again.
func remakeFolder(t *testing.T, room string) (dir string) {
	t.Helper()
	dir = testDoors.Folder(room)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBornAfter(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if bornAfter(dir, now.Add(time.Second)) || !bornAfter(dir, now.Add(-time.Hour)) || !bornAfter(dir+"/missing", now) {
		t.Error("a directory's age is judged wrongly")
	}
	for i := range 50 {
		name, when := filepath.Join(dir, strconv.Itoa(i)), time.Now()
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		if !bornAfter(name, when) {
			t.Fatal("a directory that was made at once after a time counts as older")
		}
	}
}
