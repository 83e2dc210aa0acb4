package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/sentence"
)

type (
	// Entry is a file or a folder of the workspace.
	Entry = boxinit.Entry
	// Found is what is at a path of the workspace.
	Found = boxinit.Found
	// Running is a process of a container.
	Running = boxinit.Process
)

// Kinds of failure of what people look at in a container.
var (
	// ErrNoListener: no program of the container accepts connections on that port.
	ErrNoListener = sentence.New(errors.New("nothing listens on the port"),
		"Nothing in the room's container accepts connections on that port.")
	// ErrNoOffer: the container is stopped, paused or just starting.
	ErrNoOffer = sentence.New(errors.New("the container offers no connection"),
		"The room's container is not running. Its next task starts it.")
)

// browseGap is how long nothing may go on while a file is copied: the other side may be slow, too.
const browseGap = 2 * time.Minute

// browse carries out an operation, whose streams may take long as long as something goes on.
func (c *Container) browse(ctx context.Context, o operation) (boxinit.Reply, error) {
	o.gap = browseGap
	reply, err := c.door.do(ctx, o)
	if err == nil {
		err = failure(reply, string(o.Op))
	}
	return reply, known(err)
}

// known adds a sentence to the error of a container that an earlier version of the bot has created.
func known(err error) error {
	if err != nil && strings.Contains(err.Error(), "unknown operation") {
		return sentence.New(err, "An earlier version of the bot has created the "+
			"room's container. The room's next task replaces it, and then this works.")
	}
	return err
}

// Look returns what is at a path of the workspace, "" for all of it. Links lead nowhere else. It is ErrNotFound if
// nothing is there.
func (c *Container) Look(ctx context.Context, name string) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	reply, err := c.browse(ctx, operation{Request: boxinit.Request{Op: boxinit.OpLook, Name: []byte(name)}})
	if err != nil || reply.Found == nil {
		return Found{}, err
	}
	return *reply.Found, nil
}

// Download writes the first size bytes of a file of the workspace to w, once. It returns io.ErrUnexpectedEOF if the
// file has become shorter.
func (c *Container) Download(ctx context.Context, name string, size int64, w io.Writer) error {
	out := &counting{to: w}
	_, err := c.browse(ctx, operation{stdout: out,
		Request: boxinit.Request{Op: boxinit.OpDownload, Name: []byte(name), Size: size}})
	if err == nil && out.n != size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Upload writes a new file into the workspace, in a folder that exists. It is ErrFileExists if there is something of
// that name. If it fails, or r does, there is no such file.
func (c *Container) Upload(ctx context.Context, name string, r io.Reader) error {
	_, err := c.browse(ctx, operation{stdin: r, Request: boxinit.Request{Op: boxinit.OpUpload, Name: []byte(name)}})
	return err
}

// Processes lists what runs in a room's container, newest first, and whether there is more. It starts no container.
func (r *Rooms) Processes(ctx context.Context, room string) (list []Running, more bool, err error) {
	conn := r.offers.take(ctx, room, offerTime)
	if conn == nil {
		return nil, false, ErrNoOffer
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	reply, err := operation{gap: operationTime, Request: boxinit.Request{Op: boxinit.OpProcesses}}.on(conn)
	if err == nil {
		err = failure(reply, "list processes")
	}
	return reply.Processes, reply.More, known(err)
}

// Dial connects to a TCP port on which a program in a room's container listens. The container counts as used until the
// connection is closed. It is ErrNoListener if nothing listens there; what comes from the connection may be hostile.
func (r *Rooms) Dial(ctx context.Context, room string, port int) (net.Conn, error) {
	conn := r.offers.take(ctx, room, offerTime)
	if conn == nil {
		return nil, ErrNoOffer
	}
	if err := dialOn(ctx, conn, port); err != nil {
		conn.Close()
		return nil, known(err)
	}
	release := func() {}
	if kept, ok := r.ensured.Load(room); ok {
		release = r.uses.begin(kept.(ensured).Name)
	}
	return &tunnel{Conn: conn, release: sync.OnceFunc(release)}, nil
}

// dialOn asks for a connection with a port on one that a container has offered.
func dialOn(ctx context.Context, conn net.Conn, port int) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(2 * operationTime)); err != nil {
		return err
	}
	frames := boxinit.NewFrames(conn)
	if err := frames.WriteJSON(boxinit.FrameRequest, boxinit.Request{Op: boxinit.OpDial, Port: port}); err != nil {
		return fmt.Errorf("dial port %d: %w", port, err)
	}
	kind, data, err := frames.Next(boxinit.MaxFrame)
	var reply boxinit.Reply
	if err == nil && kind == boxinit.FrameReply {
		err = boxinit.ReadJSON(data, &reply)
	}
	switch {
	case err != nil:
		return fmt.Errorf("dial port %d: %w", port, err)
	case strings.Contains(reply.Error, "unknown operation"):
		return errors.New(reply.Bounded().Error)
	case kind != boxinit.FrameReply || reply.Failed():
		return fmt.Errorf("dial port %d: %w: %.500q", port, ErrNoListener, reply.Error)
	}
	return conn.SetDeadline(time.Time{})
}

// tunnel is a connection with a program in a container.
type tunnel struct {
	net.Conn
	release func()
}

// Close may be called again.
func (t *tunnel) Close() error {
	t.release()
	return t.Conn.Close()
}
