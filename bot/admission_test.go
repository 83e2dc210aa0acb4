package bot

import (
	"encoding/json"
	"testing"

	"matrix-tui/bot/matrix/event"
	"matrix-tui/state"
)

func TestClearUntil(t *testing.T) {
	say := decoded(t, `{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{}}`)
	on := decoded(t, `{"event_id":"$2","type":"m.room.encryption","sender":"@ann:here","state_key":"","content":{"algorithm":"m.megolm.v1.aes-sha2"}}`)
	for _, c := range []struct {
		name        string
		before, now bool
		events      []event.Event
		want        int
	}{
		{"never encrypted", false, false, []event.Event{say, say}, 2},
		{"encrypted before", true, true, []event.Event{say, say}, 0},
		{"turned on in between", false, true, []event.Event{say, on, say}, 1},
		{"turned on before the first", false, true, []event.Event{say}, 0},
		{"turned on once more", true, true, []event.Event{say, on}, 0},
	} {
		if got := clearUntil(c.before, c.now, c.events); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestCleartextIsArchived(t *testing.T) {
	raw := json.RawMessage(`{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"x"}}`)
	row := asCleartext(state.Inbound{Type: "m.room.message", Status: state.Pending, Raw: raw})
	e, ok := parseEvent(row.Raw)
	if !ok || row.Status != state.Archived || row.Type != typeCleartext {
		t.Errorf("%+v", row)
	}
	if k := classify(e, self, func(wireEvent) hearing { return hearing{heard: true, reply: true} }); k != kindArchive {
		t.Errorf("it is %d to the bot", k)
	}
	if _, ok := saidIn(row); ok {
		t.Error("it can be quoted")
	}
}
