package sandbox

import (
	"context"
	"io"
)

// Engine runs the containers of rooms, and keeps what they store: podman, or another one. What belongs to another
// room, it leaves alone. What happens inside a container is a [Container]'s.
type Engine interface {
	Runner
	// Ensure returns the room's container, running, as Spec wants it. It starts a stopped container, resumes a paused one,
	// and recreates a missing or broken one on its old volumes. If the name belongs to another room: ErrNameTaken.
	Ensure(ctx context.Context, spec Spec) (Ensured, error)
	List(ctx context.Context) ([]Info, error)
	Usage(ctx context.Context) (map[string]int64, error)
	Packages(ctx context.Context, room, name string) ([]string, error)
	ImageID(ctx context.Context, image string) (string, error)

	// Stop keeps container and volumes. Remove removes the container and, for good, the volumes of volumesOf, "" = none.
	Stop(ctx context.Context, name, room string) error
	Remove(ctx context.Context, name, room, volumesOf string) error

	HasVolumes(ctx context.Context, room string) (bool, error)
	ExportVolumes(ctx context.Context, room, image string, w io.Writer) error
	ImportVolumes(ctx context.Context, room, image string, r io.Reader, replace bool) error
	VolumeRooms(ctx context.Context) (map[string]string, error)

	// Storage is the folder on the host that fills up. Rootless says whether the kernel limits how many containers run.
	Storage(ctx context.Context) (string, error)
	Rootless(ctx context.Context) (bool, error)
	Close()
}

// Runner is what a [Container] needs of the engine that runs it, where no connection is offered.
type Runner interface {
	// Exec runs a process in a container and returns its exit code. When ctx ends, the process continues.
	Exec(ctx context.Context, id string, p Process) (code int, err error)
	// Restart stops everything in a container and starts it again.
	Restart(ctx context.Context, id string) error
	// Paused reports whether a container is paused. One that is missing is not.
	Paused(ctx context.Context, id string) (bool, error)
	// Unpause continues a paused container.
	Unpause(ctx context.Context, id string) error
}

// Process is a program to run in a container with its streams attached.
type Process struct {
	Argv []string
	// Stdin is copied to the process and then closed, nil = empty. With Hold it stays open until the process ends or the
	// caller goes away.
	Stdin          io.Reader
	Hold           bool
	Stdout, Stderr io.Writer // nil = dropped
}

// Ensured is a room's container as its engine runs it.
type Ensured struct {
	ID, Name, Room string
	Image          string // the ID of the one that it was created from
	// Created says that this Ensure created the container, Started that it started it (a new one or a stopped one). If
	// neither is set, it was running.
	Created, Started bool
	// Outdated says that a new container would have another seccomp profile, another runtime, the host's
	// boxinit, or the limits that the container lacks.
	Outdated bool
	Strength string // what boxinit verifies
	Unfit    error  // why no run may start in it, whatever it looks like from inside
	Init     string // the path of boxinit in it
	Old      bool   // its boxinit speaks another protocol
	Only     bool   // what it offers is the only way in: nothing can be executed in it, or read while it does not run
}

var _ Engine = (*Podman)(nil)
