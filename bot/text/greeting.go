package text

// Greeting is the message that the bot sends after it has joined a room; address explains how to give it a task.
func Greeting(address string) string {
	return "Hello! " + address +
		" I work in a container that belongs to this room alone, " +
		"and everything in its /workspace stays from one task to the next. While I work, a notice shows my progress; the result comes as a reply. " +
		"When I need you, I ask here and wait for your answer. `!stop` cancels the current task, `!help` lists all commands."
}

// Address explains how to give a task to the bot, which has a display name. Mention says whether it must be mentioned
// now, and later whether it must be once more people are in the room.
func Address(mention, later bool, name string) string {
	how := "Tell me what you want done, in your own words."
	call := "mention me (" + Code(name) + ") or reply to me"
	switch {
	case mention:
		return "To give me a task, " + call + " and say what you want done, in your own words."
	case later:
		return how + " Once more people are here, " + call + "."
	}
	return how
}
