package bot

import (
	"matrix-tui/bot/policy"
	"matrix-tui/bot/text"
)

// greeting is what the bot says where it has come to.
func (r *room) greeting() string {
	return "Hello! " + r.address() + " I work on it in a container that belongs to this room alone, " +
		"and everything in its /workspace stays from one task to the next. While I work, a notice shows how far I am; the result comes as a reply. " +
		"When I need you, I ask here and wait for your answer; `!stop` ends what I am at."
}

// address tells how the bot is given work in the room.
func (r *room) address() string {
	return address(r.bot.policy.Room(r.id).Reply.In(r.bot.isDirect(r.id)), r.bot.name())
}

func address(reply policy.Reply, name string) string {
	if reply == policy.MentionOnly {
		return "Mention me (" + text.Code(name) + "), or reply to me, and write what you want done, in your own words."
	}
	return "Write me what you want done, in your own words."
}
