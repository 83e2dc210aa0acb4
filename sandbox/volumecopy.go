package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/specgen"
	rspec "github.com/opencontainers/runtime-spec/specs-go"

	"matrix-tui/state/roomname"
)

// labelHelper marks the containers that copy volumes. They have no room label, so that
// no bot takes one for a room's container.
const labelHelper = "io.matrix-tui.helper"

// HasVolumes reports whether at least one of the room's volumes exists on this host.
func (p *Podman) HasVolumes(ctx context.Context, room string) (bool, error) {
	for _, kind := range volumeKinds {
		_, _, err := p.volumeOf(ctx, kind, room)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}

// ExportVolumes writes the room's volumes to w as a tar of workspace/ and root/, with
// the user IDs seen inside the container. The room's container may be running: a file
// that changes is copied as it is when its turn comes. It uses a helper container made
// from the image, so nothing that the agent changed takes part.
func (p *Podman) ExportVolumes(ctx context.Context, room, image string, w io.Writer) error {
	return p.helped(ctx, room, image, "ro", func(id string) error {
		var said bounded
		said.left = 4 << 10
		code, err := p.attach(ctx, id, process{
			argv: []string{"tar", "--create", "--file=-", "--sparse", "--numeric-owner", "--directory=/", "workspace", "root"},
			dir:  "/", stdout: w, stderr: &said,
		})
		if err == nil && code > 1 { // 1: a file changed while it was read
			err = fmt.Errorf("tar ended with code %d: %s", code, strings.TrimSpace(said.kept.String()))
		}
		return explain(err, "read the volumes of", room)
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
		if err := p.quietly(ctx, id, nil, "find", "/workspace", "/root", "-mindepth", "1", "-delete"); err != nil {
			return explain(err, "empty the volumes of", room)
		}
		in := &input{r: r}
		err := p.quietly(ctx, id, in, "tar", "--extract", "--file=-", "--numeric-owner", "--preserve-permissions", "--directory=/", "workspace", "root")
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

// quietly runs a command in a helper container and fails if the command fails.
func (p *Podman) quietly(ctx context.Context, id string, stdin io.Reader, argv ...string) error {
	said := bounded{left: 4 << 10}
	code, err := p.attach(ctx, id, process{argv: argv, dir: "/", stdin: stdin, stdout: io.Discard, stderr: &said})
	if err == nil && code != 0 {
		err = fmt.Errorf("%s ended with code %d: %s", argv[0], code, strings.TrimSpace(said.kept.String()))
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
	names, slot, err := p.volumesFor(ctx, room)
	if err != nil {
		return err
	}
	spec := Spec{Room: room, Name: "copy-" + roomname.Whole(room), Image: image, volumes: names}
	g := spec.generator(imageID, slot, &rspec.LinuxResources{})
	for _, v := range g.Volumes {
		v.Options = []string{mode}
	}
	return p.temporarily(ctx, g, room, do)
}

// temporarily calls do with a temporary container, and removes that afterwards.
func (p *Podman) temporarily(ctx context.Context, g *specgen.SpecGenerator, helps string, do func(id string) error) (err error) {
	g.Labels = map[string]string{labelHelper: helps, labelVersion: g.Labels[labelVersion]}
	g.RestartPolicy = "no"
	unlock, err := p.names.Lock(ctx, g.Name)
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.removeHelper(ctx, g.Name); err != nil { // left over from an interrupted one
		return err
	}
	made, err := containers.CreateWithSpec(p.with(ctx), g, nil)
	if err != nil {
		return explain(err, "create container", g.Name)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, p.remove(ctx, made.ID))
	}()
	if err := containers.Start(p.with(ctx), made.ID, nil); err != nil {
		return explain(err, "start container", g.Name)
	}
	return do(made.ID)
}

// removeHelper removes a helper container with that name, and nothing else.
func (p *Podman) removeHelper(ctx context.Context, name string) error {
	data, err := containers.Inspect(p.with(ctx), name, nil)
	if err = explain(err, "look for container", name); errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if data.Config == nil || data.Config.Labels[labelHelper] == "" {
		return explain(ErrNameTaken, "remove container", name)
	}
	return p.remove(ctx, data.ID)
}
