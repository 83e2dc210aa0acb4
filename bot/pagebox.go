package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// Found is what is at a path of a room's workspace.
type Found = sandbox.Found

// Process is a process in a room's container.
type Process = sandbox.Running

// ErrNoFile means that there is no such file, or it leads out of the workspace.
var ErrNoFile = errors.New("no such file")

// ErrFileExists means that a workspace has a file of that name.
var ErrFileExists = sandbox.ErrFileExists

var (
	errNoContainer = sentence.New(errors.New("no container"),
		"The room has no container yet: its first task creates it.")
	errDiskLow = sentence.New(errors.New("the disk is low"),
		"The host's disk is almost full. Free some space, and try again.")
)

// Box is what people see and do in rooms' containers, on the page. Each method finds out what the visitor may see.
type Box struct{ page Page }

// BoxOf returns the containers of a bot's rooms.
func BoxOf(b *Bot) Box { return Box{PageOf(b)} }

// container returns the container of a room that a visitor may see, running.
func (b Box) container(ctx context.Context, v state.Visitor, id string) (*room, *sandbox.Container, error) {
	r, err := b.page.open(ctx, v, id)
	if err == nil && b.page.bot.Store.Containers.Of(id) == "" {
		err = errNoContainer
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	container, err := r.env.Ensure(ctx, false, nil)
	return r, container, err
}

// noFile returns ErrNoFile for what is not there, and says what else is wrong with a file.
func noFile(name string, err error) error {
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrNoFile, err)
	case errors.Is(err, ErrFileExists):
		return sentence.Newf(err, "There is already a file %s, and I have not changed it. Rename one of the two.", name)
	}
	return err
}

// Look returns what is at a path of a room's workspace, "" for all of it.
func (b Box) Look(ctx context.Context, v state.Visitor, room, path string) (Found, error) {
	_, container, err := b.container(ctx, v, room)
	if err != nil {
		return Found{}, err
	}
	found, err := container.Look(ctx, path)
	return found, noFile(path, err)
}

// Download writes size bytes of a file of a room's workspace. It fails if there are fewer.
func (b Box) Download(ctx context.Context, v state.Visitor, room, path string, size int64, w io.Writer) error {
	_, container, err := b.container(ctx, v, room)
	if err != nil {
		return err
	}
	return noFile(path, container.Download(ctx, path, size, w))
}

// Upload writes a new file into a folder of a room's workspace. name is for people.
func (b Box) Upload(ctx context.Context, v state.Visitor, room, path, name string, from io.Reader) error {
	r, container, err := b.container(ctx, v, room)
	switch {
	case err != nil:
		return err
	case r.env.Keeper.Low(ctx):
		return errDiskLow
	}
	space := func() error {
		if r.env.Keeper.Low(ctx) {
			return errDiskLow
		}
		return nil
	}
	return noFile(name, container.Upload(ctx, path, &watched{from: from, space: space}))
}

// watched reads what is written to the disk as long as that has space.
type watched struct {
	from  io.Reader
	space func() error
	n     int64
}

// lookAfter is after how many bytes the disk is looked at again.
const lookAfter = 64 << 20

// Read returns the error of space when the disk is low.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.from.Read(b)
	before := w.n / lookAfter
	if w.n += int64(n); w.n/lookAfter > before && err == nil {
		err = w.space()
	}
	return n, err
}

// Processes lists what runs in a room's container, newest first, and whether there is more.
func (b Box) Processes(ctx context.Context, v state.Visitor, room string) ([]Process, bool, error) {
	if err := b.Sees(ctx, v, room); err != nil {
		return nil, false, err
	}
	return b.page.bot.Podman.Processes(ctx, room)
}

// Sees returns ErrNoRoom if the visitor may not see a room.
func (b Box) Sees(ctx context.Context, v state.Visitor, room string) error {
	_, err := b.page.open(ctx, v, room)
	return err
}

// Dial connects to a program that listens on a port in a room's container.
func (b Box) Dial(ctx context.Context, v state.Visitor, room string, port int) (net.Conn, error) {
	if err := b.Sees(ctx, v, room); err != nil {
		return nil, err
	}
	return b.page.bot.Podman.Dial(ctx, room, port)
}
