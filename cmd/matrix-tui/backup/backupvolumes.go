package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/roomname"
	"matrix-tui/state/sentence"
)

// errBotRuns: in a cluster, only one process can be the door for the rooms' pods.
var errBotRuns = sentence.New(errors.New("the bot runs"),
	"The rooms' files in a cluster are copied while the bot does not run. Set MAINTENANCE=true first, as "+
		"deploy/README.md says under Kubernetes, or use the snapshots of the cluster's storage.")

// connect connects to what runs the rooms' sandboxes. In a cluster, it keeps the bot from starting meanwhile.
func (b *backup) connect(ctx context.Context, log zerolog.Logger) (err error) {
	if b.cfg.Engine == settings.Kubernetes {
		if b.lock, err = state.Lock(b.dir); errors.Is(err, state.ErrLocked) {
			return errBotRuns
		} else if err != nil {
			return err
		}
	}
	if b.podman, b.end, err = engine.ForVolumes(ctx, b.cfg, log); err != nil {
		return errors.Join(err, b.disconnect())
	}
	return nil
}

func (b *backup) disconnect() error {
	if b.end != nil {
		b.end()
	}
	if b.lock != nil {
		return b.lock.Close()
	}
	return nil
}

// packVolumes adds a room's volumes in pieces, followed by an end marker. If one room
// fails, it says so, and the others continue.
func (b *backup) packVolumes(ctx context.Context, to *packer, name, room string) error {
	folder := "volumes/" + name + "/"
	w := &pieces{to: to, folder: folder}
	err := b.podman.ExportVolumes(ctx, room, string(b.cfg.Image), w)
	switch err = errors.Join(err, w.flush()); {
	case w.broken != nil:
		return w.broken
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		b.left++
		fmt.Fprintf(b.say, "matrix-tui: room %s: %s\n", clean.Text(room), sentence.Text(err))
		return nil
	}
	b.rooms++
	if b.cfg.Engine == settings.Kubernetes { // each takes some seconds, and connections that carry nothing are cut
		fmt.Fprintf(b.say, "%s: copied (%d)\n", clean.Text(room), b.rooms)
	}
	return to.add(folder+"end", 0, strings.NewReader(""))
}

// volumeNames returns the rooms that have volumes, by folder name.
func (b *backup) volumeNames(ctx context.Context) (map[string]string, error) {
	if b.podman == nil {
		return nil, nil
	}
	store, err := state.ReadStore(b.dir)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, room := range store.Rooms() {
		room = store.VolumesOf(room)
		there, err := b.podman.HasVolumes(ctx, room)
		if err != nil {
			return nil, fmt.Errorf("look for the volumes of %s: %w", room, err)
		}
		if there {
			names["sandbox-"+roomname.Whole(room)] = room
		}
	}
	return names, nil
}
