package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// Root in a container cannot change the boxinit that is mounted from the host, nor put another one in its place, nor reach
// into the memory of one that runs.
func TestInitCannotBeReplaced(t *testing.T) {
	spec := testSpec(t)
	rooms, _ := roomsWithInits(t)
	gatewayFor(t, rooms, spec.Room)
	container, err := rooms.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, container, "test \"$(tr '\\0' ' ' </proc/1/cmdline)\" = '/boxinit '")
	for name, attack := range map[string]string{
		"write":             "echo x >/boxinit",
		"truncate":          "truncate -s 0 /boxinit",
		"delete":            "rm -f /boxinit",
		"rename":            "mv /boxinit /other",
		"replace":           "cp /bin/busybox /other && mv -f /other /boxinit",
		"link over":         "ln -sf /bin/busybox /boxinit",
		"change mode":       "chmod 0 /boxinit",
		"mount over":        "mount --bind /bin/busybox /boxinit || mount -t tmpfs none /boxinit",
		"unmount":           "umount /boxinit || umount -l /boxinit",
		"remount":           "mount -o remount,rw,bind /boxinit",
		"memory of PID 1":   "head -c 1 /dev/zero | dd of=/proc/1/mem bs=1 seek=4194304 conv=notrunc",
		"memory of a line":  "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline | grep -q '^boxinit connect' && : >>$p/mem && exit 0; done; exit 1",
		"files of PID 1":    "ls -l /proc/1/fd/ | grep socket",
		"program of PID 1":  "echo x >/proc/1/exe",
		"descriptor, later": "echo x >/proc/1/root/boxinit",
	} {
		result, err := container.Exec(t.Context(), Cmd{Argv: []string{"/bin/sh", "-c", attack}})
		if err != nil {
			t.Fatal(err)
		}
		if result.Code == 0 {
			t.Errorf("%s: succeeded: %s", name, result.Stdout)
		}
	}
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); err != nil {
		t.Error(err)
	}
}

// A container of an earlier version, without that mount, keeps working and is replaced between two tasks. A copy that is
// gone is made again.
func TestInitOfEarlierVersion(t *testing.T) {
	spec := testSpec(t)
	ensure(t, spec)
	rooms, inits := roomsWithInits(t)
	ensure := func() *Container {
		t.Helper()
		rooms.ensured.Delete(spec.Room)
		container, err := rooms.Ensure(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return container
	}
	container := ensure()
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}); err != nil || !container.Outdated || container.Created {
		t.Errorf("%v, %+v", err, container)
	}
	spec.Fresh = true
	container = ensure()
	if !container.Created || container.Outdated || container.Init != initMount {
		t.Errorf("not replaced: %+v", container)
	}
	spec.Fresh = false
	if err := rooms.Stop(t.Context(), container.Name, container.Room); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(inits); err != nil {
		t.Fatal(err)
	}
	before := container.ID
	container = ensure()
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "s", Argv: []string{"true"}}); err != nil || container.Init != initMount || container.ID != before {
		t.Errorf("%v, %+v", err, container)
	}
}

// roomsWithInits returns rooms whose containers mount boxinit from a folder.
func roomsWithInits(t *testing.T) (r *Rooms, inits string) {
	inits = filepath.Join(t.TempDir(), "boxinit")
	return roomsAt(t, testPodman.Socket(), Place{Doors: &testDoors, Inits: inits, Version: "test"}), inits
}

func TestDropOld(t *testing.T) {
	dir := t.TempDir()
	for i := range keptInits + 3 {
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dropOld(dir)
	if left, _ := os.ReadDir(dir); len(left) != keptInits {
		t.Errorf("%d copies are left", len(left))
	}
}
