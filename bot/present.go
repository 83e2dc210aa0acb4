package bot

import (
	"slices"

	"matrix-tui/bot/matrix"
)

// expectTasks lets the agent start, or at least the container, where somebody who may use the bot has begun to type or has
// read something.
func (b *Bot) expectTasks(batch *matrix.Sync) {
	if !b.isOpen.Load() || batch.Since == "" {
		return
	}
	for name, joined := range batch.Joined {
		_ = b.guarded(name, "expecting a task", func() error {
			heard := func(user string) bool { return !b.isSelf(user) && b.mayUse(name, user, b.isDirect(name)).Heard }
			if slices.ContainsFunc(joined.Present, heard) {
				b.room(name).env.Present(b.ctx)
			}
			return nil
		})
	}
}
