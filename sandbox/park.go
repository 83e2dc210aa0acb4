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
	_, err := c.short(ctx, "discard parked run of room "+room, boxinit.Request{Op: boxinit.OpPark, Park: &Parking{}}, nil)
	return err
}

// ParkRun starts a run that waits for its input; see [Parking]. A run that is parked with the same key already waits
// longer. Without a key, it discards the parked run. It returns when the run ends on its own, by the container's
// clock. It fails while a run is active, and if the container is weaker than its spec: ErrWeak.
func (c *Container) ParkRun(ctx context.Context, p Parking) (until time.Time, err error) {
	if err := c.fit(); err != nil {
		return until, fmt.Errorf("park run %s: %w", p.Run.ID, err)
	}
	reply, err := c.short(ctx, "park run "+p.Run.ID, boxinit.Request{Op: boxinit.OpPark, Park: &p}, nil)
	return reply.Until, err
}
