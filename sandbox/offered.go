package sandbox

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"matrix-tui/sandbox/boxinit"
)

// maxOffered bounds a frame that a container sends, in bytes.
const maxOffered = 16 << 20

// offerTime is how long a container may take to offer the next connection: it does that as soon as one is used. Any other
// way to reach it takes about 90 ms of processor time.
const offerTime = 200 * time.Millisecond

// offers are connections that containers have offered, at most one for each room. A line on one of them needs no podman.
type offers struct {
	mu     sync.Mutex
	conns  map[string]net.Conn // by room
	next   map[string]*nextOffer
	closed bool
}

// nextOffer is a room's next connection, if it has offered one before.
type nextOffer struct {
	made chan struct{} // closed when it is there
	late bool          // somebody has waited in vain: nobody begins to wait
}

// OfferPath is the path of the gateway at which the first process of a container offers a connection.
const OfferPath = boxinit.AttendPath

// OfferField is the field of the request's header that Offer reads.
const OfferField = boxinit.ParkedHeader

// Offer takes a connection on which the first process of a room's container waits for requests. It replaces the one before.
// If it is the room's first one, Offer returns until when a run is parked in the container, as that says: an earlier process
// of the bot has parked it. Otherwise it returns zero.
func (p *Podman) Offer(room string, conn net.Conn, parked string) (until time.Time) {
	p.offers.mu.Lock()
	defer p.offers.mu.Unlock()
	if p.offers.closed {
		conn.Close()
		return time.Time{}
	}
	if seconds, err := strconv.ParseInt(parked, 10, 64); err == nil && p.offers.next[room] == nil {
		until = time.Unix(seconds, 0)
	}
	if old := p.offers.conns[room]; old != nil {
		old.Close()
	}
	if p.offers.conns == nil {
		p.offers.conns, p.offers.next = map[string]net.Conn{}, map[string]*nextOffer{}
	}
	p.offers.conns[room] = conn
	if next := p.offers.next[room]; next != nil {
		close(next.made)
	}
	p.offers.next[room] = &nextOffer{made: make(chan struct{})}
	return until
}

// take returns a room's connection, or nil. If the room has offered one before, it waits for the next one, for offerTime;
// when another caller got that one, for the one after it.
func (o *offers) take(ctx context.Context, room string) net.Conn {
	conn, next := o.now(room)
	for conn == nil && next != nil {
		over := time.NewTimer(offerTime)
		select {
		case <-next.made:
			over.Stop()
		case <-over.C:
			return o.last(room, next)
		case <-ctx.Done():
			over.Stop()
			return nil
		}
		conn, next = o.now(room)
	}
	return conn
}

// now returns a room's connection, or else the next one if that is to be expected.
func (o *offers) now(room string) (net.Conn, *nextOffer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := o.next[room]
	if next != nil && next.late {
		next = nil
	}
	return o.conn(room), next
}

// last returns a room's connection, or nil. A caller has waited for next long enough.
func (o *offers) last(room string, next *nextOffer) net.Conn {
	o.mu.Lock()
	defer o.mu.Unlock()
	conn := o.conn(room)
	next.late = conn == nil
	return conn
}

// conn takes the connection that a room has offered, or nil. The caller holds the lock.
func (o *offers) conn(room string) net.Conn {
	conn := o.conns[room]
	delete(o.conns, room)
	return conn
}

// close closes all connections, and those that will be offered.
func (o *offers) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, conn := range o.conns {
		conn.Close()
	}
	o.conns, o.closed = nil, true
}

// ensured is what an Ensure has returned, and for which spec.
type ensured struct {
	container Container
	spec      string
}

// answering returns the container of the last Ensure if it still answers on a line that needs no podman: then it has not
// been replaced.
func (e *ensuring) answering(ctx context.Context) *Container {
	kept, _ := e.ensured.Load(e.spec.Name)
	last, ok := kept.(ensured)
	if !ok || last.spec != e.spec.identity() {
		return nil
	}
	known := last.container
	known.Created, known.Started = false, false
	l := e.lines.take(ctx, known.ID)
	if l == nil {
		l = known.offeredLine(ctx)
	}
	if l == nil {
		return nil
	}
	e.lines.give(known.ID, l)
	return &known
}

// podmanAnswers is how long podman may take to answer while there is another way to the container.
const podmanAnswers = time.Second

// ask lets podman answer a question about the container. If podman takes long, and the container is one that was ensured
// before, the error is ErrUnreachable: the container may answer itself. It waits only once.
func (e *ensuring) ask(ctx context.Context, question func(context.Context) error) error {
	if _, known := e.ensured.Load(e.spec.Name); !known || e.waited {
		return question(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, podmanAnswers)
	defer cancel()
	err := question(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		e.waited = true
		return fmt.Errorf("%w within %s: %w", ErrUnreachable, podmanAnswers, err)
	}
	return err
}

// identity is what a container that was ensured for the spec can be used for.
func (s Spec) identity() string {
	return fmt.Sprintln(s.Room, s.Name, s.VolumesOf, s.Image, s.Memory, s.CPUs, s.PIDs, s.Files, s.Runtime, s.Gateway, s.Inits)
}

// offeredLine returns a line on the connection that the container has offered, or nil if that does not work.
func (c *Container) offeredLine(ctx context.Context) *line {
	conn := c.podman.offers.take(ctx, c.Room)
	if conn == nil {
		return nil
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &line{in: conn, stop: stop, gone: make(chan struct{}), strength: c.strength, offered: true}
	context.AfterFunc(life, func() { conn.Close() })
	go func() {
		defer close(l.gone)
		defer stop()
		l.err = fmt.Errorf("%w: %w", errLineGone, l.read(conn))
	}()
	ctx, cancel := context.WithTimeout(ctx, lineAnswers)
	defer cancel()
	if l.ping(ctx) != nil {
		l.close()
		return nil
	}
	return l
}

// read passes on frames until the connection ends, or something else comes.
func (l *line) read(conn io.Reader) error {
	stdout := stream{l, func(x *exchange) io.Writer { return x.stdout }}
	stderr := stream{l, func(x *exchange) io.Writer { return x.stderr }}
	in := bufio.NewReaderSize(conn, 32<<10)
	var head [boxinit.FrameHeader]byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint32(head[1:]))
		to := stdout
		switch {
		case size > maxOffered:
			return errors.New("a frame is too long")
		case head[0] == 2:
			to = stderr
		case head[0] != 1:
			return fmt.Errorf("a frame of the unknown kind %d", head[0])
		}
		if _, err := io.CopyN(to, in, size); err != nil {
			return err
		}
	}
}
