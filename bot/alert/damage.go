package alert

import (
	"fmt"
	"strings"

	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// Salvaged says what was saved from a damaged journal and what not.
func Salvaged(s *state.Salvage) string {
	parts := []string{fmt.Sprintf("⚠️ My journal was damaged, as by a failing disk. I wrote a new one with %s, %s and %s, and kept the damaged file as %s.",
		count(s.Events, "event"), count(s.Tasks, "unfinished task"), count(s.Messages, "unsent message"), text.Code(s.From))}
	if s.Whole() {
		return parts[0] + " Nothing was lost. Please check the disk."
	}
	parts = append(parts, fmt.Sprintf("%d of %s could not be read. Messages from shortly before may be lost: if I do not answer one, send it again.", s.LostPages, count(s.Pages, "page")))
	if !s.Token {
		parts = append(parts, "I also lost my place in the homeserver's event stream, so messages sent while I was down may be missing.")
	}
	return strings.Join(append(parts, "Please check the disk."), " ")
}

// KeysReplaced says that the keys were in a damaged file. renewed reports whether the bot
// can log in as a new session by itself.
func KeysReplaced(file string, renewed bool) string {
	said := "⚠️ My encryption keys in `crypto.db` were damaged, as by a failing disk. I kept the damaged file as " + text.Code(file) + ". "
	if !renewed {
		said += "I cannot read or write in encrypted rooms until MATRIX_ACCESS_TOKEN is the token of a new session, or MATRIX_PASSWORD is set, or somebody stops me and runs `matrix-tui login`. Unencrypted rooms work."
	} else {
		said += "I have logged in as a new session. Encrypted messages from before may be unreadable for me: if I do not answer one, send it again. " +
			"I trust the cross-signing identities that the homeserver names now, as if I saw them for the first time."
	}
	return said + " Please check the disk."
}

// count formats a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
