package bot

import (
	"context"

	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// roomJudge implements [decide.Judge].
type roomJudge struct{ *room }

func (r roomJudge) Event(ctx context.Context, room, id string) (state.Event, error) {
	return r.bot.event(ctx, room, id)
}
func (r roomJudge) Addressee(m event.Message) policy.Addressee { return r.bot.addressee(m) }
func (r roomJudge) Named(said string) (string, bool) {
	return policy.AfterName(said, r.bot.UserID(), r.bot.profile.Name())
}
func (r roomJudge) Stops(ctx context.Context, e event.Event) bool {
	return r.decider.Wanted(ctx, e, r.bot.UserID(), r.bot.profile.Name())
}
func (r roomJudge) MayBeAlone(room string) bool { return r.bot.roster.MayBeAlone(room) }
