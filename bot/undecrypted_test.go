package bot

import (
	"strings"
	"testing"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// keylessEvent returns an event in the room of d whose key is missing.
func keylessEvent(d *deciding, id, session string) state.Event {
	return state.Event{Status: state.Pending, Event: event.Event{
		ID: id, Type: event.TypeEncrypted, Sender: "@ann:here", Room: d.id, Time: d.at,
		Encryption: event.MissingKey, Session: session, Raw: []byte(`{}`),
	}}
}

// The room hears that a message can never be decrypted, and whether it looks like a copy of an earlier one.
func TestTellsOfUndecryptable(t *testing.T) {
	for encryption, want := range map[event.Encryption]string{event.Undecryptable: "cannot decrypt this message", event.Copy: "looks like a copy"} {
		d := newDeciding(t, everything)
		row := keylessEvent(d, "$1", "s")
		row.Encryption = encryption
		if _, err := d.bot.Journal.Events.Commit(t.Context(), "", []state.Event{row}); err != nil {
			t.Fatal(err)
		}
		d.decides()
		unsent, err := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
		if err != nil || len(unsent) != 1 || !strings.Contains(unsent[0].Body, want) {
			t.Errorf("%s: the room is told %v, %v", encryption, unsent, err)
		}
	}
}
