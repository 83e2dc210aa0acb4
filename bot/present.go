package bot

import (
	"slices"

	"matrix-tui/bot/matrix"
)

// expectTasks lets the agent start, or at least the container, where somebody who may use the bot has begun to type or has
// read something.
func (b *Bot) expectTasks(batch *matrix.Sync) {
	if !b.work.Open.Load() || batch.Since == "" {
		return
	}
	for name, joined := range batch.Joined {
		_ = b.work.Guard(name, "expecting a task", func() error {
			if joined.Typing != nil {
				b.room(name).typing.Note(joined.Typing)
			}
			heard := func(user string) bool { return !b.isSelf(user) && b.mayUse(name, user, b.roster.IsDirect(name)).Heard }
			if slices.ContainsFunc(joined.Present, heard) {
				b.room(name).env.Present(b.ctx)
			}
			return nil
		})
	}
}

// Types is part of [task.Room].
func (r taskRoom) Types(user string) bool { return r.typing.Is(user) }
