package sandbox

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"matrix-tui/sandbox/boxinit"
)

const (
	// offerTime is how long a container may take to offer the next connection: it does that as soon as one is used, and
	// within two seconds of a restart of the bot. Podman needs about 90 ms of processor time to reach it.
	offerTime = 2 * time.Second
	// lineTime is the same for a container that has no other way in. It leaves time to say why there is none to somebody
	// who waits for 20 seconds, as !status does.
	lineTime = 15 * time.Second
	// answerTime is how long it may take to answer on one: it does not if it is paused, for example.
	answerTime = time.Second
)

// OfferPath is the path of the gateway at which a container offers a connection.
const OfferPath = boxinit.OperationPath

// OfferField is the field of the request's header that Offer reads.
const OfferField = boxinit.ParkedHeader

// offers are connections that containers have offered, at most one for each room, for one operation each.
type offers struct {
	mu     sync.Mutex
	rooms  map[string]*offer
	closed bool
}

// offer is what a room's container has offered.
type offer struct {
	conn  net.Conn      // nil if it was taken
	next  chan struct{} // closed when there is another one
	known bool          // it has offered one before
	late  bool          // somebody has waited in vain: nobody begins to wait
}

// add takes a connection: see [Rooms.Offer].
func (o *offers) add(room string, conn net.Conn, parked string) (until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		conn.Close()
		return until
	}
	one := o.of(room)
	if seconds, err := strconv.ParseInt(parked, 10, 64); err == nil && !one.known {
		until = time.Unix(seconds, 0)
	}
	if one.conn != nil {
		one.conn.Close()
	}
	close(one.next)
	*one = offer{conn: conn, next: make(chan struct{}), known: true}
	return until
}

// of returns what a room has offered. The caller holds the lock.
func (o *offers) of(room string) *offer {
	if o.rooms == nil {
		o.rooms = map[string]*offer{}
	}
	if o.rooms[room] == nil {
		o.rooms[room] = &offer{next: make(chan struct{})}
	}
	return o.rooms[room]
}

// expect says that a room's container is about to offer a connection: it is started.
func (o *offers) expect(room string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of(room).late = false
}

// ready returns a connection on which a room's container answers, without waiting for one, or nil.
func (o *offers) ready(ctx context.Context, room string) net.Conn {
	o.mu.Lock()
	conn := o.of(room).conn
	o.of(room).conn = nil
	o.mu.Unlock()
	if conn == nil || answers(ctx, conn) {
		return conn
	}
	conn.Close()
	return nil
}

// take returns a connection on which a room's container answers, or nil. It waits for one, as long as it may, unless
// somebody has waited in vain since the last one.
func (o *offers) take(ctx context.Context, room string, wait time.Duration) net.Conn {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	for over, began := false, time.Now(); ; {
		o.mu.Lock()
		now := o.of(room)
		conn, next := now.conn, now.next
		now.conn = nil
		now.late = now.late || over && conn == nil
		give := now.late || o.closed
		o.mu.Unlock()
		switch {
		case conn != nil && answers(ctx, conn):
			return conn
		case conn != nil:
			conn.Close()
			if time.Since(began) > wait {
				return nil
			}
			continue
		case give:
			return nil
		}
		select {
		case <-next:
		case <-limit.C:
			over = true
		case <-ctx.Done():
			return nil
		}
	}
}

// answers sends a byte, and reports whether it comes back.
func answers(ctx context.Context, conn net.Conn) bool {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	one := []byte{1}
	if _, err := conn.Write(one); err != nil {
		return false
	}
	n, err := conn.Read(one)
	return n == 1 && err == nil && conn.SetDeadline(time.Time{}) == nil
}

// close closes all connections, and those that will be offered.
func (o *offers) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.rooms {
		if one.conn != nil {
			one.conn.Close()
			one.conn = nil
		}
	}
	o.closed = true
}
