package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/clean"
)

// volumesIn restores the volumes in a backup one room at a time: the pieces go into a
// pipe whose other end fills the room's volumes.
type volumesIn struct {
	ctx  context.Context
	r    *restore
	name string // of the room that is being filled
	room string
	n    int // rooms that were filled
	pipe *io.PipeWriter
	done chan error
}

// take passes a member to its room.
func (v *volumesIn) take(member string, data io.Reader) error {
	inner, ok := strings.CutPrefix(member, "volumes/")
	if !ok {
		return v.ctx.Err()
	}
	name, piece, _ := strings.Cut(inner, "/")
	if name != v.name {
		if err := v.finish(); err != nil {
			return err
		}
		v.begin(name)
	}
	if piece == "end" || v.pipe == nil {
		return nil
	}
	_, err := io.Copy(v.pipe, data)
	if errors.Is(err, io.ErrClosedPipe) {
		return v.finish() // the reader is done: it failed, or only padding is left
	}
	return err
}

// begin starts to fill a room's volumes if they are complete in the backup.
func (v *volumesIn) begin(name string) {
	v.name = name
	room := v.r.manifest.Volumes[name]
	v.room = room
	if room == "" || !v.r.names["volumes/"+name+"/end"] {
		fmt.Fprintf(v.r.say, "The files of %s are incomplete in the backup and were skipped.\n", name)
		return
	}
	out, in := io.Pipe()
	v.pipe, v.done = in, make(chan error, 1)
	go func() {
		err := v.r.podman.ImportVolumes(v.ctx, room, string(v.r.cfg.Image), out, v.r.force)
		out.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // what is still written goes nowhere
		v.done <- err
	}()
}

// finish ends the current room and returns its error.
func (v *volumesIn) finish() error {
	if v.pipe == nil {
		return nil
	}
	_ = v.pipe.Close() // never fails
	v.pipe = nil
	err := <-v.done
	if v.n++; err == nil && v.r.cfg.Engine == settings.Kubernetes { // as in packVolumes
		fmt.Fprintf(v.r.say, "%s: restored (%d)\n", clean.Text(v.room), v.n)
	}
	return err
}

// abandon interrupts the current room.
func (v *volumesIn) abandon() {
	if v.pipe != nil {
		v.pipe.CloseWithError(errors.New("restore was interrupted"))
		v.pipe = nil
		<-v.done
	}
}
