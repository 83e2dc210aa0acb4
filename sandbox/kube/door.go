package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox/boxinit/relay"
)

const (
	// Strangers are connections that have not proved which pod they are from. Those of one address beyond its bound are
	// closed at once, and its relay comes again within half a second; those of all beyond theirs wait.
	//
	// An address has as many as one relay opens at a time, so that an agent, which can connect to the door as well as its
	// relay, keeps out only its own room. Where the cluster translates addresses, all pods of a node have one: a relay
	// needs its place for milliseconds, so 110 of them are back within seconds, but an agent can keep out the others.
	maxOfAddress, maxStrangers = 32, 512

	tokenTime   = 10 * time.Second
	joinTime    = 10 * time.Second
	acceptPause = 50 * time.Millisecond // when descriptors have run out
)

// Door is where the pods' relays connect: each connection becomes one to the gateway of the pod's room. Which room that
// is, the cluster says, and nothing that comes over the connection.
type Door struct {
	config    *tls.Config
	join      func(ctx context.Context, room string) (net.Conn, error)
	log, warn zerolog.Logger

	verdicts  *verdicts
	strangers chan struct{}
	sources   sources // of the strangers
	lines     lines
	tokenTime time.Duration // for tests, which do not wait ten seconds
}

// NewDoor returns a door with this certificate. It admits pods whose token is for the audience. Join opens a connection
// to the gateway of a room.
func NewDoor(a *api, certificate tls.Certificate, audience string,
	join func(ctx context.Context, room string) (net.Conn, error), log zerolog.Logger,
) *Door {
	return &Door{
		config: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13,
			SessionTicketsDisabled: true},
		join: join, log: log,
		// Strangers must not fill the log.
		warn:      log.Sample(&zerolog.BurstSampler{Burst: 10, Period: time.Minute}),
		verdicts:  newVerdicts(reviewer{a, audience}.room),
		strangers: make(chan struct{}, maxStrangers),
		sources:   sources{of: map[netip.Addr]int{}},
		lines:     lines{of: map[string]int{}},
		tokenTime: tokenTime,
	}
}

// Serve accepts connections until ctx ends. Then it closes the listener and all connections, and waits for their end.
func (d *Door) Serve(ctx context.Context, listener net.Listener) error {
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		if err == nil {
			from := addressOf(conn)
			if !d.sources.enter(from) {
				conn.Close()
				d.warn.Warn().Stringer("from", from).Msg("too many connections that do not say which pod they are from")
				continue
			}
			select {
			case d.strangers <- struct{}{}:
			case <-ctx.Done():
				conn.Close()
				d.sources.leave(from)
				return nil
			}
			open.Go(func() { d.serve(ctx, conn, from) })
			continue
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept a relay's connection: %w", err)
		}
		d.warn.Warn().Err(err).Msg("cannot accept a relay's connection")
		select {
		case <-time.After(acceptPause):
		case <-ctx.Done():
		}
	}
}

// addressOf returns where a connection is from.
func addressOf(conn net.Conn) netip.Addr {
	from, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // else all have one address
	return from.Addr().Unmap()
}

func (d *Door) serve(ctx context.Context, raw net.Conn, from netip.Addr) {
	defer raw.Close()
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	conn := tls.Server(raw, d.config)
	room, err := d.admit(ctx, raw, conn, from)
	var refused refusal
	if errors.As(err, &refused) {
		d.warn.Warn().Stringer("from", raw.RemoteAddr()).Str("reason", string(refused)).Msg("a pod was refused")
		if _, err := conn.Write([]byte{relay.DoorRefused}); err == nil {
			conn.Close()
		}
		return
	}
	if err == nil {
		err = d.welcome(ctx, conn, room)
	}
	if err != nil && ctx.Err() == nil {
		d.warn.Warn().Stringer("from", raw.RemoteAddr()).Err(err).Msg("a pod's connection failed")
	}
}

// admit returns the room of the pod that the connection is from. It counts as a stranger until then.
func (d *Door) admit(ctx context.Context, raw net.Conn, conn *tls.Conn, from netip.Addr) (string, error) {
	defer func() { d.sources.leave(from); <-d.strangers }()
	if tcp, ok := raw.(*net.TCPConn); ok {
		alive := net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}
		if err := tcp.SetKeepAliveConfig(alive); err != nil {
			return "", fmt.Errorf("set up a relay's connection: %w", err)
		}
	}
	if err := raw.SetDeadline(time.Now().Add(d.tokenTime)); err != nil {
		return "", fmt.Errorf("set up a relay's connection: %w", err)
	}
	token, err := readToken(conn)
	if err != nil {
		return "", err
	}
	room, err := d.verdicts.room(ctx, from, token)
	// What is written next is one byte.
	return room, errors.Join(err, raw.SetDeadline(time.Now().Add(d.tokenTime)))
}

// readToken reads a line. Nothing follows it before the door has answered.
func readToken(conn *tls.Conn) (string, error) {
	line := make([]byte, relay.MaxToken)
	for n := 0; n < len(line); {
		more, err := conn.Read(line[n:])
		if err != nil {
			return "", fmt.Errorf("read a relay's token: %w", err)
		}
		end := bytes.IndexByte(line[n:n+more], '\n')
		if n += more; end < 0 {
			continue
		}
		token := line[:n-1]
		if bytes.IndexByte(token, '\n') >= 0 || !isToken(token) {
			return "", refusal("what was sent is not a token")
		}
		return string(token), nil
	}
	return "", refusal("the token is too long")
}

// isToken reports whether the bytes look like a token of the cluster.
func isToken(data []byte) bool {
	for _, c := range data {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '=':
		default:
			return false
		}
	}
	return len(data) > 0
}

// welcome joins the connection to the room's gateway, until it ends.
func (d *Door) welcome(ctx context.Context, conn *tls.Conn, room string) error {
	leave, ok := d.lines.enter(room)
	if !ok {
		return fmt.Errorf("join the gateway of room %s: %w", room, errTooMany)
	}
	defer leave()
	opening, cancel := context.WithTimeout(ctx, joinTime)
	gateway, err := d.join(opening, room)
	cancel()
	if err != nil {
		return fmt.Errorf("join the gateway of room %s: %w", room, err)
	}
	defer gateway.Close()
	defer context.AfterFunc(ctx, func() { gateway.Close() })()
	if _, err := conn.Write([]byte{relay.DoorWelcome}); err != nil {
		return fmt.Errorf("welcome a pod of room %s: %w", room, err)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("welcome a pod of room %s: %w", room, err)
	}
	d.log.Debug().Str("room", room).Msg("a pod's connection joined")
	couple(conn, gateway)
	return nil
}
