package sandboxtest

import (
	"errors"
	"strconv"
	"testing"

	"matrix-tui/sandbox"
	"matrix-tui/state/roomname"
)

// foreign: a container that is another room's, or none's, stays, and the room's own gets another name.
func foreign(t *testing.T, s *Site) {
	for _, owner := range []string{"", Room("other")} {
		spec := s.newRoom(t)
		name := sandbox.NameFor(spec.Room)
		there := s.Foreign(t, name, owner)
		if err := s.Rooms.Stop(t.Context(), name, spec.Room); !errors.Is(err, sandbox.ErrNameTaken) {
			t.Errorf("stopped: %v, want ErrNameTaken", err)
		}
		c := s.ensure(t, spec)
		if c.Name != sandbox.WholeName(spec.Room) || Sh(t, c, "echo mine") != "mine" {
			t.Errorf("the room got %+v", c)
		}
		for range 2 { // the second time, the room has none
			if err := s.Rooms.Remove(t.Context(), name, spec.Room, spec.Room); err != nil {
				t.Error(err)
			}
		}
		if !there() {
			t.Errorf("owner %q: it was touched", owner)
		}
	}
}

// foreignVolume: a volume that is no room's stays as it is.
func foreignVolume(t *testing.T, s *Site) {
	spec := s.newRoom(t)
	there := s.ForeignVolume(t, "workspace-"+roomname.Short(spec.Room))
	c := s.ensure(t, spec)
	Sh(t, c, "echo mine > /workspace/file")
	rooms, err := s.Rooms.VolumeRooms(t.Context())
	if room := rooms["workspace-"+roomname.Whole(spec.Room)]; room != spec.Room {
		t.Errorf("the room's files are in the volume of %q: %v", room, err)
	}
	s.remove(t, c, spec.Room)
	if !there() || s.hasVolumes(t, spec.Room) {
		t.Errorf("there %v, the room's there %v", there(), s.hasVolumes(t, spec.Room))
	}
}

// sameName: two rooms whose IDs somebody has chosen so that their names are the same share nothing, whoever comes
// first, and also when containers are gone.
func sameName(t *testing.T, s *Site) {
	first, second := twins()
	a, b := s.Spec(t, first), s.Spec(t, second)
	Sh(t, s.ensure(t, a), "echo mine > /workspace/file; echo mine > /root/file")
	other := s.ensure(t, b)
	if got := Sh(t, other, "ls /workspace /root"); got != "/root:\n\n/workspace:" || other.Name != sandbox.WholeName(second) {
		t.Errorf("container %s has %q", other.Name, got)
	}
	Sh(t, other, "echo theirs > /workspace/file; echo theirs > /root/file")
	for what, err := range map[string]error{
		"stop":       s.Rooms.Stop(t.Context(), sandbox.NameFor(second), second),
		"stop first": s.Rooms.Stop(t.Context(), other.Name, first),
	} {
		if !errors.Is(err, sandbox.ErrNameTaken) {
			t.Errorf("%s the other room's container: %v", what, err)
		}
	}
	if !s.hasVolumes(t, first) || !s.hasVolumes(t, second) {
		t.Errorf("volumes: %v, %v", s.hasVolumes(t, first), s.hasVolumes(t, second))
	}
	if err := s.Rooms.Remove(t.Context(), sandbox.NameFor(first), first, first); err != nil {
		t.Fatal(err)
	}
	b.Name = sandbox.NameFor(second) // its container and the first room's are gone: the name is free
	s.remove(t, other, "")
	if got := Sh(t, s.ensure(t, b), "cat /workspace/file /root/file"); got != "theirs\ntheirs" {
		t.Errorf("the second room has %q", got)
	}
	if got := Sh(t, s.ensure(t, a), "ls /workspace /root"); got != "/root:\n\n/workspace:" {
		t.Errorf("invited again, the first room has %q", got)
	}
}

// twins returns two rooms whose containers would have the same name.
func twins() (first, second string) {
	base, seen := Room("twin"), map[string]string{}
	for i := 0; ; i++ {
		room := base + strconv.Itoa(i)
		name := sandbox.NameFor(room)
		if seen[name] != "" {
			return seen[name], room
		}
		seen[name] = room
	}
}
