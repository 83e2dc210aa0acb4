package bot

import (
	"context"

	"matrix-tui/state"
)

// roomOut implements [turn.Outbox].
type roomOut struct{ *room }

func (r roomOut) Notice(kind state.Kind, txn, text string) state.Message {
	return r.notice(kind, txn, text)
}
func (r roomOut) Queue(ctx context.Context, out ...state.Message) error { return r.queue(ctx, out...) }
func (r roomOut) Wake()                                                 { r.outbox.Wake() }
func (r roomOut) Reply(ctx context.Context, out []state.Message, rows ...string) error {
	return r.reply(ctx, out, rows...)
}
func (r roomOut) Tell(ctx context.Context, row state.Event, text string) error {
	return r.tell(ctx, row, text)
}
