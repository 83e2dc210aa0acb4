package sandbox

import (
	"context"
	"io"
	"net"
	"time"
)

// Engine runs the containers of rooms, and keeps what they store: podman, or another one. What belongs to another
// room, it leaves alone. What happens inside a container is a [Container]'s.
type Engine interface {
	Ensure(ctx context.Context, spec Spec) (*Container, error)
	List(ctx context.Context) ([]Info, error)
	Usage(ctx context.Context) (map[string]int64, error)
	Packages(ctx context.Context, room, name string) ([]string, error)

	// Stop keeps container and volumes, Destroy the volumes, and Remove neither: of volumesOf, "" = keep them.
	Stop(ctx context.Context, name, room string) error
	StopUnused(ctx context.Context, name, room string, since time.Time) (stopped bool, err error)
	Destroy(ctx context.Context, name, room string) error
	Remove(ctx context.Context, name, room, volumesOf string) error
	Hold(name string) (release func())
	LastUse(name string) (last time.Time, busy bool)

	Offer(room string, conn net.Conn, parked string) (until time.Time)
	Unpark(ctx context.Context, room string) error

	HasVolumes(ctx context.Context, room string) (bool, error)
	ExportVolumes(ctx context.Context, room, image string, w io.Writer) error
	ImportVolumes(ctx context.Context, room, image string, r io.Reader, replace bool) error
	VolumeRooms(ctx context.Context) (map[string]string, error)

	// Storage is the folder on the host that fills up. Rootless says whether the kernel limits how many containers run.
	Storage(ctx context.Context) (string, error)
	Rootless(ctx context.Context) (bool, error)
	Close()
}

var _ Engine = (*Podman)(nil)
