package bot

import (
	"matrix-tui/bot/policy"
	"matrix-tui/bot/text"
)

// greeting returns the message that the bot sends after it has joined. alone says
// that it and one other person are the room's only members.
func (r *room) greeting(alone bool) string {
	return "Hello! " + r.address(alone) +
		" I work in a container that belongs to this room alone, " +
		"and everything in its /workspace stays from one task to the next. While I work, a notice shows my progress; the result comes as a reply. " +
		"When I need you, I ask here and wait for your answer. `!stop` cancels the current task, `!help` lists all commands."
}

// address explains how to give the bot a task in the room.
func (r *room) address(alone bool) string {
	return address(r.bot.policy.Room(r.id).Reply, alone, r.bot.name())
}

func address(reply policy.Reply, alone bool, name string) string {
	how := "Tell me what you want done, in your own words."
	mention := "mention me (" + text.Code(name) + ") or reply to me"
	switch {
	case reply.In(alone) == policy.MentionOnly:
		return "To give me a task, " + mention + " and say what you want done, in your own words."
	case reply.In(false) == policy.MentionOnly: // until somebody else joins
		return how + " Once more people are here, " + mention + "."
	}
	return how
}
