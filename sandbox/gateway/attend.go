package gateway

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Attend takes the connections that each room's container offers at a path: the bot asks for its operations on them.
// The callback owns the connection, and gets the value of a field of the request's header with it. It must not block. A
// process of the agent can offer one, too; it can only pretend to be its own container. Call Attend before Open.
func (g *Gateway) Attend(path, field string, offered func(room string, conn net.Conn, value string)) {
	g.attendPath, g.attendField, g.offered = path, field, offered
}

// attend gives a connection away.
func (d *door) attend(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		d.refuse(w, r)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	err = conn.SetDeadline(time.Time{})
	if err == nil {
		_, err = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: boxinit\r\n\r\n"))
	}
	if err != nil {
		conn.Close()
		return
	}
	d.g.offered(d.room, &given{conn, context.AfterFunc(d.live, func() { conn.Close() })}, r.Header.Get(d.g.attendField))
}

// given is a connection that was given away. It is closed with its door at the latest.
type given struct {
	net.Conn
	forget func() bool // that the door closes it
}

// Close closes it once and for all.
func (c *given) Close() error {
	c.forget()
	return c.Conn.Close()
}
