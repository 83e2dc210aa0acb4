package sandbox

import (
	"context"
	"time"

	"github.com/rs/zerolog"
)

// Podman is the connection to podman's service. It is safe for concurrent use.
type Podman struct {
	log zerolog.Logger
}

// Connect reaches podman's service at uri ("unix:///…/podman.sock"). An empty uri
// means $CONTAINER_HOST, else the default socket of the user the process runs as.
// It returns ErrUnreachable when nobody answers there.
func Connect(ctx context.Context, uri string, log zerolog.Logger) (*Podman, error) {
	return nil, errTodo
}

// Version returns the version of podman's service, as "4.3.1".
func (p *Podman) Version(ctx context.Context) (string, error) { return "", errTodo }

// ImageID returns the ID of a local image, or ErrImageMissing.
func (p *Podman) ImageID(ctx context.Context, image string) (string, error) { return "", errTodo }

// Spec is what a room's box is to be like.
type Spec struct {
	// Room is the room's ID, as on the label.
	Room string
	// Name is the container's name; "" = NameFor(Room).
	Name  string
	Image string
	// Memory is the limit in bytes, swap included; 0 = none.
	Memory int64
	// CPUs is the number of processors the box may use; 0 = no limit.
	CPUs float64
	// PIDs is the limit on processes and threads; 0 = no limit.
	PIDs int64
	// Gateway is the directory on the host that holds the gateway's socket,
	// mounted read-only at /run/gateway. "" = none.
	Gateway string
	// Version is the bot's version, for the label.
	Version string
}

// Box is a running container that belongs to one room.
type Box struct {
	ID, Name, Room string
	// Created says that this Ensure made the container, Started that it started
	// it (a new one or a stopped one). Neither: it was running.
	Created, Started bool

	podman *Podman
}

// Ensure returns the room's box, running: found and running it is used as it is,
// stopped it is started, paused it goes on, missing or broken it is made anew on
// its old volumes. A container of that name whose label is not Spec.Room is left
// alone: ErrNameTaken.
func (p *Podman) Ensure(ctx context.Context, spec Spec) (*Box, error) { return nil, errTodo }

// Info is one line of List.
type Info struct {
	ID, Name, Room string
	// State is podman's word: "running", "exited", "created", "paused", …
	State   string
	Image   string
	Created time.Time
}

// List returns every box, running or not, found by the room label in one call.
func (p *Podman) List(ctx context.Context) ([]Info, error) { return nil, errTodo }

// Stop stops the container; its volumes, and its own layer, stay. ErrNotFound
// when there is none; one that is stopped already is no error.
func (p *Podman) Stop(ctx context.Context, name string) error { return errTodo }

// Destroy removes the container, running or not; its volumes stay. ErrNotFound
// when there is none.
func (p *Podman) Destroy(ctx context.Context, name string) error { return errTodo }
