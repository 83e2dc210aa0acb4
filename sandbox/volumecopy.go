package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	rspec "github.com/opencontainers/runtime-spec/specs-go"

	"matrix-tui/state/roomname"
)

// ExportVolumes writes the room's volumes to w as a tar of workspace/ and root/, with
// the user IDs seen inside the container. The room's container may be running: a file
// that changes is copied as it is when its turn comes. It uses a helper container made
// from the image, so nothing that the agent changed takes part.
func (p *Podman) ExportVolumes(ctx context.Context, room, image string, w io.Writer) error {
	return p.helped(ctx, room, image, "ro", func(id string) error {
		const changed = 1 // a file, while it was read
		argv := []string{"tar", "--create", "--file=-", "--sparse", "--numeric-owner", "--directory=/", "workspace", "root"}
		return explain(p.quietly(ctx, id, changed, Process{Argv: argv, Stdout: w}), "read the volumes of", room)
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
		// new ones are not empty either: podman puts the image's own files there
		if err := p.quietly(ctx, id, 0, Process{Argv: []string{"find", "/workspace", "/root", "-mindepth", "1",
			"-delete"}}); err != nil {
			return explain(err, "empty the volumes of", room)
		}
		in := &input{r: r}
		argv := []string{"tar", "--extract", "--file=-", "--numeric-owner", "--preserve-permissions", "--directory=/",
			"workspace", "root"}
		err := p.quietly(ctx, id, 0, Process{Argv: argv, Stdin: in})
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
		err = fmt.Errorf("%s ended with code %d: %s", process.Argv[0], code, strings.TrimSpace(said.kept.String()))
	}
	return err
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
