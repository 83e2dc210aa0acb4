package bot

import (
	"context"
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

// receive marks the newest of a room's events that are durably ours as read. What
// goes wrong is not worth a word: the next receipt covers it.
func (b *Bot) receive(fresh []state.Event) {
	newest := map[string]string{}
	for _, row := range fresh {
		if row.Status == state.Pending && row.Spoken() {
			newest[row.Room] = row.ID
		}
	}
	if b.receipts.Add(newest) {
		b.start(b.sendReceipts)
	}
}

func (b *Bot) sendReceipts() {
	for b.ctx.Err() == nil {
		room, event, all := b.receipts.Next()
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
