package policy

import "matrix-tui/bot/text"

// Greeting is the message that the bot sends after it has joined a room. Alone says that it and one other person are the
// room's only members, and name is its display name.
func (r Reply) Greeting(alone bool, name string) string {
	return "Hello! " + r.Address(alone, name) +
		" I work in a container that belongs to this room alone, " +
		"and everything in its /workspace stays from one task to the next. While I work, a notice shows my progress; the result comes as a reply. " +
		"When I need you, I ask here and wait for your answer. `!stop` cancels the current task, `!help` lists all commands."
}

// Address explains how to give the bot a task.
func (r Reply) Address(alone bool, name string) string {
	how := "Tell me what you want done, in your own words."
	mention := "mention me (" + text.Code(name) + ") or reply to me"
	switch {
	case r.In(alone) == MentionOnly:
		return "To give me a task, " + mention + " and say what you want done, in your own words."
	case r.In(false) == MentionOnly: // until somebody else joins
		return how + " Once more people are here, " + mention + "."
	}
	return how
}
