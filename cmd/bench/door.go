package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
)

// door leads from a room's container to the model while no task runs there, when the bot's own gateway refuses it.
type door struct {
	gateway   *gateway.Gateway
	own, bots string // sockets
}

// openDoor starts a gateway like the bot's, for one room and one model. The caller closes it.
func (s *scene) openDoor(room, model string) (*door, error) {
	address, key := s.ModelAPI()
	upstream, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read the model's address: %w", err)
	}
	g := gateway.New(gateway.Config{Dir: filepath.Join(s.Dir(), "door"), Log: zerolog.Nop()})
	route := gemini.NewRoute(gemini.RouteConfig{Base: upstream, Key: key, Log: zerolog.Nop()}, g)
	// A refused offer would be repeated after a minute, and the bot would have to ask podman until then.
	g.Attend(sandbox.OfferPath, sandbox.OfferField, func(_ string, conn net.Conn, _ string) { conn.Close() })
	dir, err := g.Open(room)
	if err != nil {
		return nil, err
	}
	route.Begin(room, "bench", model)
	return &door{g, filepath.Join(dir, "sock"), filepath.Join(s.StateDir(), "gateway", filepath.Base(dir), "sock")}, nil
}

// through calls do while the door is in the place of the bot's: the container connects by the socket's name.
func (d *door) through(do func() error) error {
	aside := d.own + ".bot"
	if err := errors.Join(os.Rename(d.bots, aside), os.Rename(d.own, d.bots)); err != nil {
		return fmt.Errorf("exchange the gateway's socket: %w", err)
	}
	err := do()
	if back := errors.Join(os.Rename(d.bots, d.own), os.Rename(aside, d.bots)); back != nil {
		return errors.Join(err, fmt.Errorf("give the bot its gateway's socket back: %w", back))
	}
	return err
}
