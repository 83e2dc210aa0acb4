package presence

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/queue"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// If more than receiptsBurst rooms wait for a read receipt, the bot sends one every
// receiptsEvery. A receipt costs the homeserver as much as a message, and messages
// matter more.
const (
	receiptsBurst = 8
	receiptsEvery = 200 * time.Millisecond
)

// Receipts marks messages as read.
type Receipts struct {
	Account *matrix.Account
	Group   *queue.Group
	Log     zerolog.Logger

	mu     sync.Mutex
	newest map[string]string // event that is not marked yet, by room
	busy   bool              // a goroutine is sending
}

// Note marks the newest stored message of each room as read. Errors hardly matter, because the next receipt covers this
// one.
func (r *Receipts) Note(ctx context.Context, fresh []state.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range fresh {
		if row.Status == state.Pending && row.Spoken() {
			if r.newest == nil {
				r.newest = map[string]string{}
			}
			r.newest[row.Room] = row.ID
		}
	}
	if !r.busy && len(r.newest) > 0 {
		r.busy = r.Group.Spawn(func() { r.send(ctx) })
	}
}

func (r *Receipts) send(ctx context.Context) {
	for ctx.Err() == nil {
		room, event, all := r.next()
		if all == 0 {
			return
		}
		call, cancel := context.WithTimeout(ctx, matrix.CallTimeout)
		if err := r.Account.Messages.MarkRead(call, room, event); err != nil && ctx.Err() == nil {
			r.Log.Debug().Err(err).Str("room", room).Msg("cannot send read receipt")
		}
		cancel()
		if all > receiptsBurst {
			_ = retry.Sleep(ctx, receiptsEvery)
		}
	}
}

// next takes a receipt and returns how many there were; without any, the caller must stop.
func (r *Receipts) next() (room, event string, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = len(r.newest)
	for room, event = range r.newest {
		delete(r.newest, room)
		return room, event, all
	}
	r.busy = false
	return "", "", 0
}
