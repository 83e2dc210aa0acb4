package sandbox

import (
	"errors"
	"strconv"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/specgen"

	"matrix-tui/state/roomname"
)

func TestEnsureLeavesForeignAlone(t *testing.T) {
	room := testRoom(t)
	spec := testSpec(t)
	foreign := specgen.NewSpecGenerator(testImage, false)
	foreign.Name = NameFor(spec.Room)
	foreign.Labels = map[string]string{labelRoom: room}
	created, err := containers.CreateWithSpec(testPodman.with(t.Context()), foreign, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweep(t, testPodman, spec.Room, WholeName(spec.Room)) })
	if own := ensure(t, spec); own.ID == created.ID || own.Name != WholeName(spec.Room) {
		t.Errorf("the room got %+v", own)
	}
	data, err := containers.Inspect(testPodman.with(t.Context()), created.ID, nil)
	if err != nil || data.State.Status != "created" {
		t.Errorf("the foreign container was touched: %v, %v", data, err)
	}
	if _, err := containers.Remove(testPodman.with(t.Context()), created.ID, nil); err != nil {
		t.Fatal(err)
	}

	unlabelled := specgen.NewSpecGenerator(testImage, false)
	unlabelled.Name = NameFor(spec.Room)
	if _, err := containers.CreateWithSpec(testPodman.with(t.Context()), unlabelled, nil); err != nil {
		t.Fatal(err)
	}
	if err := testRooms.Stop(t.Context(), unlabelled.Name, spec.Room); !errors.Is(err, ErrNameTaken) {
		t.Errorf("stop of a container without label: %v, want ErrNameTaken", err)
	}
	if err := testRooms.Remove(t.Context(), unlabelled.Name, spec.Room, ""); err != nil {
		t.Error(err)
	}
	if _, err := containers.Inspect(testPodman.with(t.Context()), unlabelled.Name, nil); err != nil {
		t.Errorf("a container without label was removed: %v", err)
	}
}

func TestEnsureLeavesForeignVolumeAlone(t *testing.T) {
	spec := testSpec(t)
	if out, err := volumes.Create(testPodman.with(t.Context()), volumeOptions(workspaceVolume(spec.Room)), nil); err != nil {
		t.Fatal(out, err)
	}
	sh(t, ensure(t, spec), "echo mine > /workspace/file")
	if room := labelOf(t, volumeKinds[0]+roomname.Whole(spec.Room), labelRoom); room != spec.Room {
		t.Errorf("the room's files are in the volume of %q", room)
	}
}

// Two rooms whose IDs somebody has chosen so that their names are the same share nothing, whoever comes first, and also
// when containers are gone.
func TestSameName(t *testing.T) {
	first, second := sameName(t)
	a, b := testSpec(t), testSpec(t)
	a.Room, b.Room = first, second
	sh(t, ensure(t, a), "echo mine > /workspace/file; echo mine > /root/file")
	other := ensure(t, b)
	if got := sh(t, other, "ls /workspace /root"); got != "/root:\n\n/workspace:" || other.Name != WholeName(second) {
		t.Errorf("container %s has %q", other.Name, got)
	}
	sh(t, other, "echo theirs > /workspace/file; echo theirs > /root/file")
	for what, err := range map[string]error{
		"stop":       testRooms.Stop(t.Context(), NameFor(second), second),
		"stop first": testRooms.Stop(t.Context(), other.Name, first),
	} {
		if !errors.Is(err, ErrNameTaken) {
			t.Errorf("%s the other room's container: %v", what, err)
		}
	}
	for _, room := range []string{first, second} {
		if there, err := testPodman.HasVolumes(t.Context(), room); err != nil || !there {
			t.Errorf("volumes of %s: %v, %v", room, there, err)
		}
	}
	if err := testRooms.Remove(t.Context(), NameFor(first), first, first); err != nil {
		t.Fatal(err)
	}
	b.Name = NameFor(second) // its container and the first room's are gone: the name is free
	if err := testRooms.Remove(t.Context(), other.Name, second, ""); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, ensure(t, b), "cat /workspace/file /root/file"); got != "theirs\ntheirs" {
		t.Errorf("the second room has %q", got)
	}
	if got := sh(t, ensure(t, a), "ls /workspace /root"); got != "/root:\n\n/workspace:" {
		t.Errorf("invited again, the first room has %q", got)
	}
}

// sameName returns two rooms whose containers would have the same name.
func sameName(t *testing.T) (first, second string) {
	base, seen := testRoom(t), map[string]string{}
	for i := 0; ; i++ {
		room := base + strconv.Itoa(i)
		name := NameFor(room)
		if seen[name] == "" {
			seen[name] = room
			continue
		}
		for _, room := range []string{room, seen[name]} {
			t.Cleanup(func() {
				sweep(t, testPodman, room, name)
				sweep(t, testPodman, room, WholeName(room))
			})
		}
		return seen[name], room
	}
}
