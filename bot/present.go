package bot

import "matrix-tui/bot/matrix"

// expectTasks lets the agent start where somebody who may use the bot has begun to type or has read something.
func (b *Bot) expectTasks(batch *matrix.Sync) {
	if !b.isOpen.Load() || batch.Since == "" {
		return
	}
	for name, joined := range batch.Joined {
		for _, user := range joined.Present {
			if !b.isSelf(user) && b.mayUse(name, user, b.isDirect(name)).Heard {
				b.room(name).env.SignOfLife(b.ctx, 0)
				break
			}
		}
	}
}
