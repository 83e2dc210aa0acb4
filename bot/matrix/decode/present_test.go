package decode

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPresent(t *testing.T) {
	var events []json.RawMessage
	for _, e := range []string{
		`{"type":"m.typing","content":{"user_ids":["@alice:x","@bob:x",7]}}`,
		`{"type":"m.receipt","content":{"$1":{"m.read":{"@carol:x":{"ts":1}},"m.other":{"@no:x":{}}},"$2":{"m.read.private":{"@alice:x":{}}},"$3":[]}}`,
		`{"type":"m.typing","content":{"User_IDs":["@mallory:x"]}}`, `{"type":"m.typing","content":[]}`, `{"type":"m.presence"}`, `"x"`, `{`,
	} {
		events = append(events, json.RawMessage(e))
	}
	got, _ := Present(events)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"@alice:x", "@bob:x", "@carol:x"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzPresent(f *testing.F) {
	f.Add(`{"type":"m.receipt","content":{"$1":{"m.read":{"@carol:x":{"ts":1}}}}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if users, typing := Present([]json.RawMessage{json.RawMessage(raw), json.RawMessage(raw)}); max(len(users), len(typing)) > maxPresent {
			t.Error("too many")
		}
	})
}
