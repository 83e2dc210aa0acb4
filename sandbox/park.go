package sandbox

import (
	"context"
	"fmt"
	"time"

	"matrix-tui/sandbox/boxinit"
)

// Unpark discards the run that is parked in a room's container. It uses the connection that the container has offered.
func (p *Podman) Unpark(ctx context.Context, room string) error {
	c := &Container{Room: room, podman: p}
	l := c.offeredLine(ctx)
	if l == nil {
		return fmt.Errorf("discard parked run of room %s: its container offers no connection", room)
	}
	defer l.close()
	reply, err := l.ask(ctx, boxinit.Request{Park: &Parking{}})
	if err != nil {
		return fmt.Errorf("discard parked run of room %s: %w", room, err)
	}
	_, err = started("", reply.Stdout)
	return err
}

// ParkRun starts a run that waits for its input; see [Parking]. A run that is parked with the same key already waits
// longer. Without a key, it discards the parked run. It returns when the run ends on its own, by the container's clock. It
// fails while a run is active, and if the container is weaker than its spec: ErrWeak.
func (c *Container) ParkRun(ctx context.Context, p Parking) (until time.Time, err error) {
	if err := c.fit(); err != nil {
		return until, fmt.Errorf("park run %s: %w", p.Run.ID, err)
	}
	defer c.podman.Hold(c.Name)()
	l, err := c.line(ctx)
	if err != nil {
		return until, explain(err, "open line to container", c.Name)
	}
	reply, err := l.ask(ctx, boxinit.Request{Park: &p})
	if err != nil {
		l.close()
		return until, explain(err, "park run in container", c.Name)
	}
	c.podman.lines.give(c.ID, l)
	answer, err := started(p.Run.ID, reply.Stdout)
	return answer.Until, err
}
