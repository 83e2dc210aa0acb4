package alert

import (
	"fmt"

	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// Restored says what took the place of a damaged journal, and what may be lost.
func Restored(r *state.Restored) string {
	if r.From == "" {
		return "⚠️ I found no journal, only `state.json`, and restored rooms and conversations from it. Unfinished tasks, " +
			"open questions, what was scheduled and what programs sent over HTTP are lost: if I do not answer a message, " +
			"send it again."
	}
	said := "⚠️ My journal was damaged, as by a failing disk. "
	if r.At.IsZero() {
		said += "I had no copy of it, so I started a new one and read the rooms again. Unfinished tasks, open questions, " +
			"what was scheduled and what programs sent over HTTP may be lost: if I do not answer a message, send it again."
	} else {
		said += fmt.Sprintf("I restored my copy from %s and read everything since then from the homeserver again: nothing "+
			"is done twice. "+
			"Tasks and answers that programs sent over HTTP since then may be lost, and so may what was scheduled, and what "+
			"commands such as `!memory forget` changed: repeat those.", r.At.UTC().Format("2 January 2006, 15:04 MST"))
	}
	return said + " I kept the damaged file as " + text.Code(r.From) + ". Please check the disk."
}

// KeysReplaced says that the keys were in a damaged file. renewed reports whether the bot
// can log in as a new session by itself.
func KeysReplaced(file string, renewed bool) string {
	said := "⚠️ My encryption keys in `crypto.db` were damaged, as by a failing disk. I kept the damaged file as " +
		text.Code(file) + ". "
	if !renewed {
		said += "I cannot read or write in encrypted rooms until MATRIX_ACCESS_TOKEN is the token of a new session, or " +
			"MATRIX_PASSWORD is set, or somebody stops me and runs `matrix-tui login`. Unencrypted rooms work."
	} else {
		said += "I have logged in as a new session. Encrypted messages from before may be unreadable for me: if I do not " +
			"answer one, send it again. " +
			"I trust the cross-signing identities that the homeserver names now, as if I saw them for the first time."
	}
	return said + " Please check the disk."
}
