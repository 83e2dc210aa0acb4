package workspace

import "matrix-tui/state/clean"

// maxKeep bounds what a summary is asked to keep, in bytes.
const maxKeep = 2_000

// SummaryPrompt asks the agent for a summary of its session, from which a new one starts. by asks to keep something, or
// keep is "". history is the conversation if the session cannot be resumed.
func SummaryPrompt(by, keep string, history []Turn) string {
	out := ""
	if told := conversation(history, MaxHistory); told != "" {
		out = "The conversation in this room so far:\n\n" + told + "\n"
	}
	out += "This session will be replaced by a new one that knows only the summary you write now and the " +
		"newest messages. " +
		"Write the summary in at most 600 words, as your whole answer: what was asked and what was done, decisions with " +
		"their reasons, " +
		"names, numbers, commands and paths that are still needed, what people want done differently, what failed, and " +
		"what is open. " +
		"Leave out passwords and keys. Call no tools, ask nothing and change no file.\n"
	if keep != "" {
		out += "\nKeep above all what this message asks for:\n" + steering([]Message{{by, clean.Cut(keep, maxKeep)}})
	}
	return out
}
