package sandbox

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/errorhandling"
	"github.com/containers/podman/v5/pkg/specgen"
	rspec "github.com/opencontainers/runtime-spec/specs-go"
)

// labelHelper marks temporary containers. They have no room label, so that
// no bot takes one for a room's container.
const labelHelper = "io.matrix-tui.helper"

// temporarily calls do with a temporary container, which it does not start, and removes that afterwards.
func (s *service) temporarily(ctx context.Context, g *specgen.SpecGenerator, do func(id string) error) (err error) {
	g.Labels = map[string]string{labelHelper: "true", labelVersion: g.Labels[labelVersion]}
	g.RestartPolicy = "no"
	data, err := containers.Inspect(s.with(ctx), g.Name, nil)
	switch err = explain(err, "look for container", g.Name); {
	case err == nil && (data.Config == nil || data.Config.Labels[labelHelper] == ""):
		return explain(ErrNameTaken, "create container", g.Name)
	case err == nil: // left over from an interrupted one
		err = s.remove(ctx, data.ID)
	case errors.Is(err, ErrNotFound):
		err = nil
	}
	if err != nil {
		return err
	}
	made, err := containers.CreateWithSpec(s.with(ctx), g, nil)
	if err != nil {
		return explain(err, "create container", g.Name)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, s.remove(ctx, made.ID))
	}()
	return do(made.ID)
}

// start starts a temporary container.
func (s *service) start(ctx context.Context, id string) error {
	return explain(containers.Start(s.with(ctx), id, nil), "start container", id)
}

// ofImage calls do with a container of an image in which nothing has run. Its name must be the caller's alone.
func (s *service) ofImage(ctx context.Context, name, imageID string, do func(id string) error) error {
	g := placed{Spec: Spec{Name: name, Image: imageID}}.generator(imageID, noSlot, &rspec.LinuxResources{})
	g.Volumes = nil
	return s.temporarily(ctx, g, do)
}

// maxCopied bounds a file that is copied out of a container, in bytes.
const maxCopied = 16 << 20

// copyOut returns a regular file of a container in which nothing is running.
func (s *service) copyOut(ctx context.Context, id, path string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a copy of which the rest is not wanted
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		do, err := containers.CopyToArchive(s.with(ctx), id, path, w)
		if err == nil {
			err = do()
		}
		var model *errorhandling.ErrorModel
		if errors.As(err, &model) && model.ResponseCode == http.StatusNotFound {
			err = fmt.Errorf("%w: %w", ErrNotFound, err) // of a file, podman only says so by the code
		}
		w.CloseWithError(explain(err, "copy "+path+" from container", id))
	}()
	in := tar.NewReader(r)
	header, err := in.Next()
	if err != nil {
		return nil, fmt.Errorf("copy %s from container: %w", path, err)
	}
	if header.Typeflag != tar.TypeReg || header.Size > maxCopied {
		return nil, fmt.Errorf("copy %s from container: not a regular file of at most %d bytes", path, maxCopied)
	}
	data := make([]byte, header.Size)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, fmt.Errorf("copy %s from container: %w", path, err)
	}
	return data, nil
}
