package bot

import (
	"slices"
	"time"

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
			if joined.Typing != nil {
				b.room(name).typing.Store(&typing{joined.Typing, time.Now()})
			}
			heard := func(user string) bool { return !b.isSelf(user) && b.mayUse(name, user, b.isDirect(name)).Heard }
			if slices.ContainsFunc(joined.Present, heard) {
				b.room(name).env.Present(b.ctx)
			}
			return nil
		})
	}
}

// typing is who types in a room, and since when that is known.
type typing struct {
	users []string
	at    time.Time
}

// typingTime is how long somebody types at most without a word from the homeserver, which tells when they stop.
const typingTime = time.Minute

// Types is part of [task.Room].
func (r taskRoom) Types(user string) bool {
	now := r.typing.Load()
	return now != nil && time.Since(now.at) < typingTime && slices.Contains(now.users, user)
}
