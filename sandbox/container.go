package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox/boxinit"
)

// Container is what can be done in a room's container. It was running when Ensure returned it.
type Container struct {
	Ensured
	door      door
	log       zerolog.Logger
	startTime time.Duration // see Run
	waiting   func(why error)
}

// ParkRun starts a run that waits for its input; see [Parking]. A run that is parked with the same key already waits
// longer. Without a key, it discards the parked run. It returns when the run ends on its own, by the container's
// clock. It fails while a run is active, and if the container is weaker than its spec: ErrWeak.
func (c *Container) ParkRun(ctx context.Context, p Parking) (until time.Time, err error) {
	if c.Unfit != nil {
		return until, fmt.Errorf("park run %s: %w", p.Run.ID, c.Unfit)
	}
	reply, err := c.door.short(ctx, "park run "+p.Run.ID, boxinit.Request{Op: boxinit.OpPark, Park: &p}, nil)
	return reply.Until, err
}

// Restart stops everything in the container and starts it again. The log says why.
func (c *Container) Restart(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(ctx, restartTime)
	defer cancel()
	c.log.Warn().Str("container", c.Name).Str("room", c.Room).AnErr("reason", why).
		Msg("the container does not start or stop a run: restarting it")
	return explain(c.door.runner.Restart(ctx, c.ID), "restart container", c.Name)
}
