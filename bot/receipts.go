package bot

import (
	"context"
	"sync"
	"time"

	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// When more rooms than receiptsCalm wait for a read receipt, it is one every
// receiptsPause: to the homeserver each is as much work as a message, and what
// the rooms are told goes before.
const (
	receiptsCalm  = 8
	receiptsPause = 200 * time.Millisecond
)

// receipts are the newest events that are durably ours, of each room, as long as
// the homeserver does not know it. What goes wrong is not worth a word: the next
// receipt covers it.
type receipts struct {
	mu     sync.Mutex
	newest map[string]string // room → event
	busy   bool              // somebody sends them
}

// add takes what is new and tells whether somebody has to begin to send.
func (r *receipts) add(fresh []state.Inbound) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest == nil {
		r.newest = map[string]string{}
	}
	for _, row := range fresh {
		if row.Status == state.Pending && isSpoken(row.Type) {
			r.newest[row.Room] = row.Event
		}
	}
	begin := !r.busy && len(r.newest) > 0
	r.busy = r.busy || begin
	return begin
}

// next takes one out and tells how many there were; without any, it is over.
func (r *receipts) next() (room, event string, all int) {
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

// receive marks the newest of a room's events that are durably ours as read.
func (b *Bot) receive(fresh []state.Inbound) {
	if b.receipts.add(fresh) {
		b.start(b.sendReceipts)
	}
}

func (b *Bot) sendReceipts() {
	for b.ctx.Err() == nil {
		room, event, all := b.receipts.next()
		if all == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(b.ctx, callTimeout)
		if err := b.account.MarkRead(ctx, room, event); err != nil && b.ctx.Err() == nil {
			b.log.Debug().Err(err).Str("room", room).Msg("read receipt")
		}
		cancel()
		if all > receiptsCalm {
			_ = retry.Sleep(b.ctx, receiptsPause)
		}
	}
}
