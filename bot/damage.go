package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// tellSalvage tells the owners what was saved from a damaged journal. It first restores
// from state.json which messages were answered: if the journal has lost them, they may
// arrive again.
func (b *Bot) tellSalvage(ctx context.Context) error {
	report, err := b.Journal.Salvage(ctx)
	if err != nil || report == nil {
		return err
	}
	if !report.Whole() {
		for _, room := range b.Store.Rooms() {
			if err := b.Journal.Decided(ctx, room, b.answeredIn(room)...); err != nil {
				return fmt.Errorf("restore answered events: %w", err)
			}
		}
	}
	b.watch.Note(salvageText(report))
	return b.Journal.ForgetSalvage(ctx)
}

// answeredIn returns the events in a room that state.json knows to be answered.
func (b *Bot) answeredIn(room string) (events []string) {
	for _, turn := range b.Store.History(room) {
		if strings.HasPrefix(turn.Event, "$") { // not a question of ours
			events = append(events, turn.Event)
		}
	}
	for _, raw := range b.Store.Executions(room) {
		var e agent.Execution
		if json.Unmarshal(raw, &e) == nil && e.TaskEvent != "" {
			events = append(events, e.TaskEvent)
		}
	}
	return events
}

// salvageText says what was saved from a damaged journal and what not.
func salvageText(s *state.Salvage) string {
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

// tellReplaced tells the owners that the keys were in a damaged file.
func (b *Bot) tellReplaced(file string) {
	said := "⚠️ My encryption keys in `crypto.db` were damaged, as by a failing disk. I kept the damaged file as " + text.Code(file) + ". "
	if b.AccessToken != "" || b.Password == "" {
		said += "I cannot read or write in encrypted rooms until MATRIX_ACCESS_TOKEN is the token of a new session, or MATRIX_PASSWORD is set. Unencrypted rooms work."
	} else {
		said += "I have logged in as a new session. Encrypted messages from before may be unreadable for me: if I do not answer one, send it again. " +
			"I trust the cross-signing identities that the homeserver names now, as if I saw them for the first time."
	}
	b.watch.Note(said + " Please check the disk.")
}

// count formats a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
