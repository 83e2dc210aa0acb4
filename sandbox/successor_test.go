package sandbox

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/rs/zerolog"

	"matrix-tui/sandbox/gateway"
)

// Podman has lost sight of a container in which something still runs. That no longer reaches the gateway, so it cannot offer
// connections in place of its successor.
func TestLostContainer(t *testing.T) {
	spec := testSpec(t)
	p := testPodman
	lost := ensure(t, spec)
	sh(t, lost, "touch /lost")
	until(t, "the container offers a connection", func() bool { return offered(testRooms, spec.Room) })
	name := lost.Name + "-lost"
	if err := containers.Rename(p.with(t.Context()), lost.ID, new(containers.RenameOptions).WithName(name)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweep(t, p, spec.Room, name) })
	testRooms.ensured.Delete(spec.Room) // as after a restart of the bot: it would be used as long as it answers
	container := ensure(t, spec)
	if !container.Created {
		t.Fatal("no new container was created")
	}
	sh(t, container, "test -S /run/gateway/sock && ! test -e /lost")
	sh(t, beside(lost), "test -e /lost && ! test -e /run/gateway/sock")
}

// After a restart of the bot, the first connection says until when a run waits, and later ones do not. It can be discarded
// without podman.
func TestOfferAfterRestart(t *testing.T) {
	spec := testSpec(t)
	g, dir := gatewayFor(t, testRooms, spec.Room)
	run := RunSpec{ID: "parked-1", Dir: "/", Argv: []string{"sleep", "1000"}}
	container := ensure(t, spec)
	ends, err := container.ParkRun(t.Context(), Parking{Run: run, Key: "key", For: time.Hour, Facts: Facts{Tree: "/workspace"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := NewRooms(testPodman, testPodman.log)
	t.Cleanup(p.offers.close)
	said := make(chan time.Time, 10)
	g = gateway.New(gateway.Config{Dir: filepath.Dir(dir), Log: zerolog.Nop()})
	t.Cleanup(func() { g.Close(context.Background()) })
	g.Attend(OfferPath, OfferField, func(room string, conn net.Conn, parked string) { said <- p.Offer(room, conn, parked) })
	if _, err := g.Open(spec.Room); err != nil {
		t.Fatal(err)
	}
	if until := <-said; until.Unix() != ends.Unix() {
		t.Errorf("it waits until %v, want %v", until, ends)
	}
	if err := p.Unpark(t.Context(), spec.Room); err != nil {
		t.Fatal(err)
	}
	if until := <-said; !until.IsZero() {
		t.Errorf("it waits until %v although it was discarded", until)
	}
	if got := sh(t, container, "pgrep -x sleep || echo none"); got != "none" {
		t.Errorf("the run goes on: %s", got)
	}
}
