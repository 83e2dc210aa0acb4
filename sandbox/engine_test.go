package sandbox

import (
	"testing"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/domain/entities/types"
	"github.com/containers/podman/v5/pkg/specgen"
)

// Parts are what sandboxtest's table needs of these tests: package sandbox cannot import that, package sandbox_test can.
type Parts struct{}

// Rooms returns the rooms of all tests.
func (Parts) Rooms(t testing.TB) *Rooms {
	needPodman(t)
	return testRooms
}

// Spec is a container for a room, of which nothing is left after the test.
func (Parts) Spec(t testing.TB, room string) Spec {
	t.Cleanup(func() { sweep(t, testPodman, room, NameFor(room), WholeName(room)) })
	return specFor(t, room)
}

// Foreign creates a container that was never started, with the label of a room, "" = without.
func (Parts) Foreign(t *testing.T, name, room string) (there func() bool) {
	foreign := specgen.NewSpecGenerator(testImage, false)
	foreign.Name = name
	if room != "" {
		foreign.Labels = map[string]string{labelRoom: room}
	}
	created, err := containers.CreateWithSpec(testPodman.with(t.Context()), foreign, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() bool {
		data, err := containers.Inspect(testPodman.with(t.Context()), name, nil)
		return err == nil && data.ID == created.ID && data.State.Status == "created"
	}
}

// ForeignVolume creates a volume without a label.
func (Parts) ForeignVolume(t *testing.T, name string) (there func() bool) {
	if _, err := volumes.Create(testPodman.with(t.Context()), types.VolumeCreateOptions{Name: name}, nil); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		data, err := volumes.Inspect(testPodman.with(t.Context()), name, nil)
		return err == nil && len(data.Labels) == 0
	}
}

// Pause pauses a container, if the host can.
func (Parts) Pause(t testing.TB, c *Container) { pause(t, c) }

// Beside is a container by another way than the connections that it offers.
func (Parts) Beside(c *Container) *Container { return beside(c) }

// beside is a container by a connection of its own, to which nothing is offered.
func beside(c *Container) *Container {
	return NewRooms(testPodman, testPodman.log).container(c.Ensured)
}
