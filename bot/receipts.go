package bot

import (
	"context"
	"time"

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

// receive marks the newest stored message of each room as read. Errors hardly
// matter, because the next receipt covers this one.
func (b *Bot) receive(fresh []state.Event) {
	newest := map[string]string{}
	for _, row := range fresh {
		if row.Status == state.Pending && row.Spoken() {
			newest[row.Room] = row.ID
		}
	}
	if b.receipts.Add(newest) {
		b.spawn(b.sendReceipts)
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
			b.log.Debug().Err(err).Str("room", room).Msg("cannot send read receipt")
		}
		cancel()
		if all > receiptsBurst {
			_ = retry.Sleep(b.ctx, receiptsEvery)
		}
	}
}
