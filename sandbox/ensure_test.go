package sandbox

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/specgen"
)

func TestEnsureCreatesStartsReconnects(t *testing.T) {
	spec := testSpec(t)
	box := ensure(t, spec)
	if !box.Created || !box.Started || box.Name != NameFor(spec.Room) || box.Room != spec.Room || box.ID == "" {
		t.Errorf("first: %+v", box)
	}
	again := ensure(t, spec)
	if again.Created || again.Started || again.ID != box.ID {
		t.Errorf("running: %+v", again)
	}
	if err := testPodman.Stop(t.Context(), box.Name); err != nil {
		t.Fatal(err)
	}
	if err := testPodman.Stop(t.Context(), box.Name); err != nil {
		t.Error("stopped already:", err)
	}
	if _, err := box.Exec(t.Context(), Cmd{Argv: []string{"true"}}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("exec in a stopped box: %v, want ErrNotRunning", err)
	}
	started := ensure(t, spec)
	if started.Created || !started.Started || started.ID != box.ID {
		t.Errorf("stopped: %+v", started)
	}
	pause(t, box)
	if resumed := ensure(t, spec); resumed.ID != box.ID {
		t.Errorf("paused: %+v", resumed)
	}
	sh(t, box, "true")
}

// Made anew, a box finds its files, and they are still its root's, whatever slots
// other rooms took meanwhile.
func TestEnsureOnOldVolumes(t *testing.T) {
	spec := testSpec(t)
	box := ensure(t, spec)
	sh(t, box, "echo work > /workspace/file; echo session > /root/file; chown 1000:1000 /workspace/file")
	slot := labelOf(t, workspaceVolume(spec.Room), labelSlot)
	if err := testPodman.Destroy(t.Context(), box.Name); err != nil {
		t.Fatal(err)
	}
	if err := testPodman.Destroy(t.Context(), box.Name); !errors.Is(err, ErrNotFound) {
		t.Errorf("destroy again: %v, want ErrNotFound", err)
	}
	other := ensure(t, testSpec(t))
	again := ensure(t, spec)
	if !again.Created || again.ID == box.ID {
		t.Errorf("%+v", again)
	}
	if got := sh(t, again, "cat /workspace/file /root/file; stat -c '%u' /workspace /root /root/file /workspace/file"); got != "work\nsession\n0\n0\n0\n1000" {
		t.Errorf("found %q", got)
	}
	if rootless(t) {
		return
	}
	if now := labelOf(t, homeVolume(spec.Room), labelSlot); now != slot {
		t.Errorf("slot %s, was %s", now, slot)
	}
	if otherSlot := labelOf(t, workspaceVolume(other.Room), labelSlot); otherSlot == slot {
		t.Error("two rooms have one slot")
	}
	n, _ := strconv.Atoi(slot)
	want := strings.Join([]string{"0", strconv.Itoa(firstID + n*idsPerSlot), "65536"}, " ")
	if got := strings.Join(strings.Fields(sh(t, again, "cat /proc/self/uid_map")), " "); got != want {
		t.Errorf("uid map %q, want %q", got, want)
	}
}

// A room that replaced another works on the other's volumes, in a box of its own.
func TestEnsureOnVolumesOfAnother(t *testing.T) {
	spec := testSpec(t)
	old := ensure(t, spec)
	sh(t, old, "echo work > /workspace/file")
	if err := testPodman.Stop(t.Context(), old.Name); err != nil {
		t.Fatal(err)
	}
	next := testSpec(t)
	next.VolumesOf = spec.Room
	box := ensure(t, next)
	if got := sh(t, box, "cat /workspace/file; stat -c %u /workspace/file"); got != "work\n0" || box.ID == old.ID || box.Name != NameFor(next.Room) {
		t.Errorf("found %q, box %+v", got, box)
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

// A container of the room that cannot start is replaced, on its volumes.
func TestEnsureReplacesBroken(t *testing.T) {
	spec := testSpec(t)
	spec.Gateway = ""
	box := ensure(t, spec)
	sh(t, box, "echo kept > /workspace/file")
	if err := testPodman.Destroy(t.Context(), box.Name); err != nil {
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
		t.Errorf("file holds %q, box %+v", got, again)
	}
}

func TestEnsureImageMissing(t *testing.T) {
	spec := testSpec(t)
	spec.Image = "localhost/no-such-image:latest"
	_, err := testPodman.Ensure(t.Context(), spec)
	var said interface{ Sentence() string }
	if !errors.Is(err, ErrImageMissing) || !errors.As(err, &said) || !strings.Contains(said.Sentence(), "deploy/image/build") {
		t.Errorf("%v, want ErrImageMissing", err)
	}
	if _, err := volumes.Inspect(testPodman.with(t.Context()), workspaceVolume(spec.Room), nil); err == nil {
		t.Error("a volume was made")
	}
}

func TestEnsureByGivenName(t *testing.T) {
	spec := testSpec(t)
	spec.Name = "test-sandbox-given-" + slug(spec.Room)
	t.Cleanup(func() { sweep(t, testPodman, spec.Room, spec.Name) })
	box := ensure(t, spec)
	if box.Name != spec.Name {
		t.Errorf("name %s", box.Name)
	}
	list, err := testPodman.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, info := range list {
		if info.Room == spec.Room {
			found++
			if info.ID != box.ID || info.Name != spec.Name || info.State != "running" || info.Image != testImage || info.Created.IsZero() {
				t.Errorf("listed %+v", info)
			}
		}
	}
	if found != 1 {
		t.Errorf("listed %d times", found)
	}
}

// Ten rooms at once, each asked for twice at once: one box each, a slot each.
func TestEnsureConcurrently(t *testing.T) {
	const rooms = 10
	var wg sync.WaitGroup
	boxes := make([][2]*Box, rooms)
	for i := range rooms {
		spec := testSpec(t)
		for j := range 2 {
			wg.Go(func() {
				box, err := testPodman.Ensure(t.Context(), spec)
				if err != nil {
					t.Error(err)
					return
				}
				boxes[i][j] = box
				if _, err := box.StartRun(t.Context(), RunSpec{ID: "once", Argv: []string{"sh", "-c", "echo ran >> /workspace/ran; cat /workspace/ran"}}); err != nil {
					t.Error(err)
				}
				var out strings.Builder
				if _, err := box.FollowRun(t.Context(), "once", 0, &out); err != nil || out.String() != "ran\n" {
					t.Errorf("%q, %v", out.String(), err)
				}
			})
		}
	}
	wg.Wait()
	ids, slots := make(map[string]bool), make(map[string]bool)
	for _, pair := range boxes {
		if pair[0] == nil || pair[1] == nil || pair[0].ID != pair[1].ID {
			t.Fatalf("%+v", pair)
		}
		ids[pair[0].ID] = true
		slots[labelOf(t, workspaceVolume(pair[0].Room), labelSlot)] = true
	}
	if len(ids) != rooms || !rootless(t) && len(slots) != rooms {
		t.Errorf("%d boxes, %d slots for %d rooms", len(ids), len(slots), rooms)
	}
}

// What a box is like from inside.
func TestBoxIsClosed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.invalid")
	box := testBox(t)
	env := sh(t, box, "cat /proc/1/environ | tr '\\0' '\\n'; env")
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
		if got := sh(t, box, script); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}
