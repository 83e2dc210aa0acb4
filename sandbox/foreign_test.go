package sandbox

import (
	"errors"
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/specgen"
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
	if _, err := testPodman.Ensure(t.Context(), spec); !errors.Is(err, ErrNameTaken) {
		t.Errorf("container of another room: %v, want ErrNameTaken", err)
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
	for what, try := range map[string]func() error{
		"ensure":  func() error { _, err := testPodman.Ensure(t.Context(), spec); return err },
		"stop":    func() error { return testPodman.Stop(t.Context(), unlabelled.Name) },
		"destroy": func() error { return testPodman.Destroy(t.Context(), unlabelled.Name) },
	} {
		if err := try(); !errors.Is(err, ErrNameTaken) {
			t.Errorf("%s of a container without label: %v, want ErrNameTaken", what, err)
		}
	}
}

func TestEnsureLeavesForeignVolumeAlone(t *testing.T) {
	spec := testSpec(t)
	if out, err := volumes.Create(testPodman.with(t.Context()), volumeOptions(workspaceVolume(spec.Room)), nil); err != nil {
		t.Fatal(out, err)
	}
	if _, err := testPodman.Ensure(t.Context(), spec); !errors.Is(err, ErrNameTaken) {
		t.Errorf("%v, want ErrNameTaken", err)
	}
}
