package decode

import (
	"encoding/json"
	"fmt"
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

func TestIsCreator(t *testing.T) {
	for content, want := range map[string]string{
		`{}`:                       "",
		`{"room_version":"11"}`:    "",
		`{"room_version":"9"}`:     "",
		`{"room_version":"12"}`:    "@ann:x",
		`{"room_version":"13"}`:    "@ann:x",
		`{"room_version":"org.x"}`: "@ann:x",
		`{"room_version":"12","additional_creators":["@bot:x"]}`:     "@ann:x @bot:x",
		`{"room_version":"11","additional_creators":["@bot:x"]}`:     "",
		`{"room_version":"12","additional_creators":"@bot:x"}`:       "@ann:x",
		`{"room_version":"12","additional_creators":[7,["@bot:x"]]}`: "@ann:x",
	} {
		create, err := FromServer(json.RawMessage(fmt.Sprintf(`{"event_id":"$1","type":"m.room.create","state_key":"","sender":"@ann:x","content":%s}`, content)))
		if err != nil {
			t.Fatal(err)
		}
		for user, creates := range map[string]bool{"@ann:x": want != "", "@bot:x": want == "@ann:x @bot:x", "@eve:x": false} {
			if got := IsCreator(create, user); got != creates {
				t.Errorf("%s: %s is a creator: %v", content, user, got)
			}
		}
		create.StateKey = nil
		if IsCreator(create, "@ann:x") {
			t.Errorf("%s: a message creates a room", content)
		}
	}
}
