package text

// Greeting is the message that the bot sends after it has joined a room; address explains how to give it a task.
func Greeting(address string) string {
	return "Hello! " + address + "\n\n`!stop` cancels what I am working on.\n\n`!help` shows what else I can do."
}

// Address explains how to give a task to the bot, which has a display name. Mention says whether it must be mentioned.
func Address(mention bool, name string) string {
	if mention {
		return "To give me a task, mention me (" + Code(name) + ") or reply to me, and say what you want done."
	}
	return "Tell me what you want done, in your own words."
}
