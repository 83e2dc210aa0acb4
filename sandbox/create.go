package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings/containers"
)

func (e *ensuring) create(ctx context.Context) error {
	imageID, err := e.ImageID(ctx, e.spec.Image)
	if err != nil {
		return err
	}
	volumes, slot, err := e.volumes.ensure(ctx, e.spec.volumesOf())
	if err != nil {
		return err
	}
	host, err := e.about(ctx)
	if err != nil {
		return err
	}
	limits, err := e.spec.resources(host)
	if err != nil {
		return err
	}
	if e.spec.init, err = e.initFile(ctx, e.Place.Inits, imageID, e.spec.Room); err != nil {
		return err
	}
	e.spec.volumes = volumes
	e.spec.Files = OpenFiles(e.spec.Files)
	g := e.spec.generator(imageID, slot, limits)
	if g.SeccompProfilePath, err = writeProfile(e.Place.Inits); err != nil {
		return err
	}
	err = explain(e.createTogether(ctx, g), "create container", e.spec.Name)
	if errors.Is(err, ErrNameTaken) {
		return nil // created concurrently; the next step inspects it
	}
	if err != nil {
		return err
	}
	e.is.Created = true
	if e.Place.Doors != nil {
		return e.Place.Doors.Renew(e.spec.Room)
	}
	return nil
}

func (e *ensuring) begin(ctx context.Context, data *define.InspectContainerData) error {
	if e.is.Init == initMount {
		if _, err := e.initFile(ctx, e.Place.Inits, data.Config.Labels[labelImage], e.spec.Room); err != nil &&
			!errors.Is(err, ErrImageMissing) {
			return err
		}
	}
	err := containers.Start(e.with(ctx), data.ID, nil)
	if err == nil {
		e.is.Started = true
		return nil
	}
	err = explain(err, "start container", e.spec.Name)
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrUnreachable), errors.Is(err, ErrNoSpace), errors.Is(err, ErrOutOfMemory),
		errors.Is(err, ErrNoKeys):
		return err
	case errors.Is(err, ErrNotFound):
		return nil // removed meanwhile; the next step recreates it
	case e.is.Created && refusesLimits(err):
		return fmt.Errorf("%w: %w", ErrUnlimited, err)
	}
	if e.remade {
		return err
	}
	return e.remake(ctx, data, err.Error())
}

// remake removes an unusable container; the next step creates a new one on its volumes.
func (e *ensuring) remake(ctx context.Context, data *define.InspectContainerData, why string) error {
	if e.remade {
		return fmt.Errorf("the container was recreated and still cannot be used: %s", why)
	}
	if err := e.keepPackages(ctx, data); err != nil {
		return err
	}
	e.remade = true
	e.log.Warn().Str("container", e.spec.Name).Str("room", e.spec.Room).Str("reason", why).
		Msg("container cannot be used: recreating it on its volumes")
	return e.remove(ctx, data.ID)
}
