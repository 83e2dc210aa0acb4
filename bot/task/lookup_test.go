package task

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/container"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// quoting is a room whose messages can be quoted while the context lives.
type quoting struct {
	Room
	asked int
}

func (q *quoting) Quote(ctx context.Context, _, _ string) (*workspace.Quote, error) {
	q.asked++
	return &workspace.Quote{Text: "quoted"}, ctx.Err()
}

// What was looked up while the container was made ready is looked up again if that took long, and only then.
func TestLookUpAgain(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		asked int
	}{{lookedAgo / 2, 1}, {2 * lookedAgo, 2}} {
		rules := policy.Open(t.TempDir(), zerolog.Nop())
		synctest.Test(t, func(t *testing.T) {
			room := &quoting{}
			env := newEnv(&Deps{Shared: container.Shared{Policy: rules}}, "!r")
			env.Room = room
			a := &attempt{task: env.Task(state.Task{ReplyTo: "$1"})}
			looked, end := a.lookUp(t.Context())
			time.Sleep(c.takes)
			end(true)
			if err := looked(); err != nil || room.asked != c.asked || a.quoted == nil {
				t.Errorf("after %s: looked up %d times, want %d; %v", c.takes, room.asked, c.asked, err)
			}
		})
	}
}
