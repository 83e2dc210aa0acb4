package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	rspec "github.com/opencontainers/runtime-spec/specs-go"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/roomname"
)

// What is executed in a container to copy the volumes. New volumes are not empty either: podman puts the image's own
// files there, and a file system its lost+found.
var (
	packVolumes = []string{"tar", "--create", "--file=-", "--sparse", "--numeric-owner", "--directory=/", "workspace",
		"root"}
	emptyVolumes  = []string{"find", "/workspace", "/root", "-mindepth", "1", "-delete"}
	unpackVolumes = []string{"tar", "--extract", "--file=-", "--numeric-owner", "--preserve-permissions",
		"--directory=/", "workspace", "root"}
)

// packChanged is the code with which packVolumes ends if a file has changed while it was read.
const packChanged = 1

// copyGap is how long a copy over a connection may make no progress. Emptying a volume makes none that is seen.
const copyGap, emptyTime = 5 * time.Minute, 30 * time.Minute

// ExportVolumes writes the room's volumes to w as a tar of workspace/ and root/, with
// the user IDs seen inside the container. The room's container may be running: a file
// that changes is copied as it is when its turn comes. It uses a helper container made
// from the image, so nothing that the agent changed takes part.
func (p *Podman) ExportVolumes(ctx context.Context, room, image string, w io.Writer) error {
	return p.helped(ctx, room, image, "ro", func(id string) error {
		return explain(p.quietly(ctx, id, packChanged, Process{Argv: packVolumes, Stdout: w}), "read the volumes of", room)
	})
}

// ImportVolumes fills the room's volumes with what ExportVolumes wrote. If the room
// already has volumes, it returns ErrNotEmpty; with replace, their contents are deleted
// first. It returns errors of r. The caller must verify that r is complete, because tar
// accepts a truncated archive.
func (p *Podman) ImportVolumes(ctx context.Context, room, image string, r io.Reader, replace bool) error {
	there, err := p.HasVolumes(ctx, room)
	if err != nil {
		return err
	}
	if there && !replace {
		return fmt.Errorf("fill the volumes of %s: %w", room, ErrNotEmpty)
	}
	return p.helped(ctx, room, image, "rw", func(id string) error {
		if err := p.quietly(ctx, id, 0, Process{Argv: emptyVolumes}); err != nil {
			return explain(err, "empty the volumes of", room)
		}
		in := &input{r: r}
		err := p.quietly(ctx, id, 0, Process{Argv: unpackVolumes, Stdin: in})
		return explain(errors.Join(in.err, err), "fill the volumes of", room)
	})
}

// input remembers the error of a reader.
type input struct {
	r   io.Reader
	err error // valid after the last Read
}

func (w *input) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// quietly runs a process in a helper container and fails if it ends with more than a code.
func (p *Podman) quietly(ctx context.Context, id string, most int, process Process) error {
	said := bounded{left: 4 << 10}
	process.Stderr = &said
	code, err := p.Exec(ctx, id, process)
	if err == nil && code > most {
		err = endedWith(process.Argv, code, &said)
	}
	return err
}

func endedWith(argv []string, code int, said *bounded) error {
	return fmt.Errorf("%s ended with code %d: %s", argv[0], code, strings.TrimSpace(said.kept.String()))
}

// helped calls do with a temporary container that has the room's volumes and nothing
// else, and removes that container afterwards.
func (p *Podman) helped(ctx context.Context, room, image, mode string, do func(id string) error) error {
	imageID, err := p.ImageID(ctx, image)
	if err != nil {
		return err
	}
	names, slot, err := p.volumes.ensure(ctx, room)
	if err != nil {
		return err
	}
	spec := placed{Spec: Spec{Room: room, Name: "copy-" + roomname.Whole(room), Image: image}, volumes: names}
	g := spec.generator(imageID, slot, &rspec.LinuxResources{})
	for _, v := range g.Volumes {
		v.Options = []string{mode}
	}
	return p.temporarily(ctx, g, func(id string) error {
		if err := p.start(ctx, id); err != nil {
			return err
		}
		return do(id)
	})
}

// PackVolumes is [Podman.ExportVolumes] over a connection that the room's container offers. Nothing has run in it yet:
// what an agent could have changed must not take part.
func PackVolumes(ctx context.Context, c *Container, w io.Writer) error {
	return explain(carry(ctx, c, packVolumes, packChanged, nil, w), "read the volumes of", c.Room)
}

// UnpackVolumes is [Podman.ImportVolumes] over such a connection. It replaces what is there.
func UnpackVolumes(ctx context.Context, c *Container, r io.Reader) error {
	emptying, cancel := context.WithTimeout(ctx, emptyTime)
	defer cancel()
	if err := carry(emptying, c, emptyVolumes, 0, nil, nil); err != nil {
		return explain(err, "empty the volumes of", c.Room)
	}
	return explain(carry(ctx, c, unpackVolumes, 0, r, nil), "fill the volumes of", c.Room)
}

// carry executes something in a container whose input and output may be of any length, and fails if it ends with more
// than a code. It returns errors of in and out.
func carry(ctx context.Context, c *Container, argv []string, most int, in io.Reader, out io.Writer) error {
	said := bounded{left: 4 << 10}
	o := operation{stdin: in, stdout: out, stderr: &said, Request: boxinit.Request{Op: boxinit.OpExec,
		Command: &boxinit.Command{Argv: argv, Dir: "/", MaxOutput: math.MaxInt64, Whole: true}}}
	if in != nil || out != nil {
		o.gap = copyGap
	}
	reply, err := c.door.do(ctx, o)
	if err == nil {
		err = failure(reply, "execute "+argv[0])
	}
	if err == nil && reply.Code > most {
		err = endedWith(argv, reply.Code, &said)
	}
	return err
}
