package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
)

// Check creates a container like a room's, but without volumes, and starts a run in it. It returns ErrWeak if the
// container is weaker than spec. Nothing of it stays, nor of what it writes into folder, which podman must see, too.
func (p *Podman) Check(ctx context.Context, spec Spec, folder string) error {
	imageID, err := p.ImageID(ctx, spec.Image)
	if err != nil {
		return err
	}
	host, err := p.about(ctx)
	if err != nil {
		return err
	}
	slot := noSlot
	if !host.rootless {
		slot = maxSlots - 1 // a room may have it too: then they share user IDs for a moment, and nothing else
	}
	dir, err := os.MkdirTemp(folder, ".check-*")
	if err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	defer os.RemoveAll(dir)
	limits, err := spec.resources(host)
	if err != nil {
		return err
	}
	spec.Name = "matrix-tui-check-" + strings.ToLower(rand.Text()[:10]) // others may check at the same time
	spec.Files = OpenFiles(spec.Files)
	here := placed{Spec: spec, version: p.Place.Version}
	if here.init, err = p.initFile(ctx, dir, imageID, spec.Name); err != nil {
		return err
	}
	g := here.generator(imageID, slot, limits)
	if g.SeccompProfilePath, err = writeProfile(dir); err != nil {
		return err
	}
	g.Volumes = nil
	strong := strength(spec.Runtime, slot, g)
	return p.temporarily(ctx, g, func(id string) error {
		if err := p.start(ctx, id); err != nil {
			return err
		}
		if err := p.runsUnder(ctx, spec, id); err != nil {
			return err
		}
		rooms := NewRooms(p, p.log)
		rooms.offers.close() // it has no door
		container := rooms.container(Ensured{ID: id, Name: spec.Name, Strength: strong, Init: g.Entrypoint[0]})
		_, err := container.StartRun(ctx, RunSpec{ID: "check", Argv: []string{"true"}, Dir: "/"})
		return err
	})
}
