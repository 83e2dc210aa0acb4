package decode

import (
	"encoding/json"
	"testing"
)

func TestMaySend(t *testing.T) {
	for content, want := range map[string]bool{
		`{}`:                    true,
		`{"events_default":50}`: false,
		`{"events_default":50,"users":{"@bot:x":50}}`:                                      true,
		`{"events_default":50,"users_default":50}`:                                         true,
		`{"events":{"m.room.message":1}}`:                                                  false,
		`{"events":{"m.room.message":1,"m.reaction":0},"users":{"@bot:x":"1"}}`:            true,
		`{"events":{"m.reaction":100}}`:                                                    true,
		`{"users":{"@bot:x":-1}}`:                                                          false,
		`{"users":{"@BOT:x":-1}}`:                                                          true, // somebody else
		`{"users":[],"events":7,"events_default":"x"}`:                                     true,
		`{"events_default":0,"users":{"@bot:x":1e3},"events":{"m.room.message":"  50  "}}`: true,
	} {
		if got, err := MaySend(json.RawMessage(content), "@bot:x", "m.room.message"); got != want || err != nil {
			t.Errorf("%s: %v, %v", content, got, err)
		}
	}
	for _, content := range []string{``, `[]`, `{"users":{},"Users":{"@bot:x":100}}`, `{"users":{"@bot:x":0,"@bot:x":100}}`} {
		if may, err := MaySend(json.RawMessage(content), "@bot:x", "m.room.message"); err == nil {
			t.Errorf("%s: %v", content, may)
		}
	}
}
