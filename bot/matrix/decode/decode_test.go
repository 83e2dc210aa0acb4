package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// long is a lower-case s that Unicode folds to s, as encoding/json does with keys.
const long = "ſ"

const message = `{"event_id":"$1","type":"m.room.message","sender":"@mallory:x","origin_server_ts":5,"room_id":"!den:x",
	"content":{"msgtype":"m.text","body":"hello"},"unsigned":{"transaction_id":"t1"}}`

func TestDecode(t *testing.T) {
	e, err := Decode(json.RawMessage(message))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := e.Message()
	if !ok || e.ID != "$1" || e.Sender != "@mallory:x" || e.Time != 5 || e.Room != "!den:x" || e.Transaction != "t1" || e.StateKey != nil ||
		m.Body != "hello" || m.MsgType != "m.text" {
		t.Errorf("%+v %+v", e, m)
	}
}

// spelled gives an event in which a key at a path stands twice, or beside one in
// another case: both orders.
func spelled(path []string, key, other string) []string {
	value := func(name, text string) string { return fmt.Sprintf("%q:%s", name, text) }
	var out []string
	for _, pair := range [][2]string{{key, other}, {other, key}} {
		inner := value(pair[0], `"@mallory:x"`) + "," + value(pair[1], `"@owner:y"`)
		for _, outer := range slices.Backward(path) {
			inner = value(outer, "{"+inner+"}")
		}
		out = append(out, inner)
	}
	return out
}

// Every key that is read, wherever it is read, may stand there once and in one
// case.
func TestOtherSpellingsAreRejected(t *testing.T) {
	variants := func(key string) []string {
		all := []string{key, strings.ToUpper(key), strings.ToUpper(key[:1]) + key[1:]}
		if strings.Contains(key, "s") {
			all = append(all, strings.Replace(key, "s", long, 1))
		}
		if strings.Contains(key, "k") {
			all = append(all, strings.Replace(key, "k", "\u212A", 1)) // the Kelvin sign
		}
		return all
	}
	tried := 0
	var walk func(eventType string, path []string, known keys)
	walk = func(eventType string, path []string, known keys) {
		for key, below := range known {
			for _, variant := range variants(key) {
				if variant == key && len(path) == 0 && key == "content" {
					continue // written by the frame below
				}
				for _, inner := range spelled(path, key, variant) {
					frame := fmt.Sprintf(`{"event_id":"$1","type":%q,"sender":"@mallory:x",%s}`, eventType, inner)
					if len(path) == 0 && (key == "event_id" || key == "type" || key == "sender") {
						frame = fmt.Sprintf(`{"content":{},%s%s}`, inner, missing(key, eventType))
					}
					tried++
					if e, err := Decode(json.RawMessage(frame)); !errors.Is(err, ErrMalformed) {
						t.Errorf("%s was decoded: %+v, %v", frame, e, err)
					}
				}
			}
			if below != nil {
				walk(eventType, append(slices.Clone(path), key), below)
			}
		}
	}
	walk(TypeMessage, nil, eventKeys)
	for eventType, known := range contentKeys {
		walk(eventType, []string{"content"}, known)
	}
	walk("m.key.verification.start", []string{"content"}, verificationKeys)
	if tried < 500 {
		t.Errorf("only %d spellings were tried", tried)
	}
}

// missing are the keys that every event has, less one.
func missing(key, eventType string) (rest string) {
	for name, value := range map[string]string{"event_id": "$1", "type": eventType, "sender": "@mallory:x"} {
		if name != key {
			rest += fmt.Sprintf(",%q:%q", name, value)
		}
	}
	return rest
}

func TestMalformed(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing":              "",
		"no object":            `[]`,
		"null":                 `null`,
		"no sender":            `{"event_id":"$1","type":"m.room.message","content":{}}`,
		"no type":              `{"event_id":"$1","sender":"@a:b","content":{}}`,
		"a number for a type":  `{"event_id":"$1","type":5,"sender":"@a:b","content":{}}`,
		"a state key of 5":     `{"event_id":"$1","type":"m.room.member","state_key":5,"sender":"@a:b","content":{}}`,
		"two values":           message + `{}`,
		"cut off":              message[:len(message)-1],
		"not UTF-8":            strings.Replace(message, "hello", "hell\xff", 1),
		"too deep":             strings.Replace(message, `"hello"`, strings.Repeat(`{"a":`, MaxDepth)+"1"+strings.Repeat("}", MaxDepth), 1),
		"too deep in an array": strings.Replace(message, `"hello"`, strings.Repeat(`[`, MaxDepth)+"1"+strings.Repeat("]", MaxDepth), 1),
		"too large":            strings.Replace(message, "hello", strings.Repeat("x", MaxEvent), 1),
		"an unread key twice":  strings.Replace(message, `"body"`, `"x":1,"x":2,"body"`, 1),
		"an escaped key twice": strings.Replace(message, `"type"`, `"sende\u0072":"@owner:y","type"`, 1),
	} {
		if e, err := Decode(json.RawMessage(raw)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestFromServerRejectsWhatOnlyWeWrite(t *testing.T) {
	for _, raw := range []string{
		strings.Replace(message, "m.room.message", "io.matrix-tui.execute", 1),
		strings.Replace(message, `"room_id"`, `"io.matrix-tui.encrypted":true,"room_id"`, 1),
	} {
		if _, err := FromServer(json.RawMessage(raw)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", raw, err)
		}
		if _, err := Decode(json.RawMessage(raw)); err != nil {
			t.Errorf("of the journal: %s: %v", raw, err)
		}
	}
}

// Keys that are not read may be spelled as they like.
func TestUnreadKeys(t *testing.T) {
	raw := strings.Replace(message, `"body"`, `"URL_of":1,"Custom":{"Sender":"x","Body":2},"body"`, 1)
	if _, err := Decode(json.RawMessage(raw)); err != nil {
		t.Error(err)
	}
}

func TestWrongTypesAreAbsent(t *testing.T) {
	e, err := Decode(json.RawMessage(`{"event_id":7,"type":"m.room.message","sender":"@a:b","origin_server_ts":"x","unsigned":[],"redacts":{},
		"content":{"msgtype":"m.text","body":["x"],"filename":3,"m.relates_to":"none","m.new_content":7}}`))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := e.Message()
	if diff := cmp.Diff(Message{MsgType: "m.text"}, m); !ok || diff != "" || e.ID != "" || e.Time != 0 {
		t.Errorf("%+v %s", e, diff)
	}
}

func TestState(t *testing.T) {
	state := func(eventType, content string) Event {
		t.Helper()
		e, err := StateContent(eventType, json.RawMessage(content))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if got := state(TypeTombstone, `{"replacement_room":"!b"}`).Successor(); got != "!b" {
		t.Errorf("successor %q", got)
	}
	if got := state(TypeCreate, `{"predecessor":{"room_id":"!a"}}`).Predecessor(); got != "!a" {
		t.Errorf("predecessor %q", got)
	}
	if got := state(TypeVisibility, `{"history_visibility":"joined"}`).Visibility(); got != "joined" {
		t.Errorf("visibility %q", got)
	}
	if e, err := StateContent(TypeCreate, json.RawMessage(`{"predecessor":{"Room_id":"!b","room_id":"!a"}}`)); err == nil {
		t.Errorf("a predecessor with two rooms: %q", e.Predecessor())
	}
	for _, eventType := range []string{TypeTombstone, TypeVisibility, TypeCreate} {
		e := state(eventType, `{"replacement_room":"!b","history_visibility":"joined"}`)
		e.StateKey = nil
		if e.Successor()+e.Predecessor()+e.Visibility() != "" {
			t.Errorf("%s counts without being state", eventType)
		}
	}
}

// FuzzDecode holds that whatever is decoded means to us what it means to a reader
// who matches keys exactly.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(message))
	f.Add([]byte(`{"event_id":"$1","type":"m.room.member","sender":"@a:b","state_key":"@bot:here","content":{"membership":"join"}}`))
	f.Add([]byte(`{"event_id":"$1","type":"m.room.message","sender":"@mallory:x","ſender":"@owner:y","content":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := Decode(raw)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		var exact map[string]json.RawMessage
		var loose struct {
			Sender string `json:"sender"`
		}
		if err := json.Unmarshal(raw, &exact); err != nil {
			t.Fatal(err)
		}
		var sender string
		_ = json.Unmarshal(exact["sender"], &sender)
		if _ = json.Unmarshal(raw, &loose); e.Sender != sender || loose.Sender != "" && loose.Sender != sender {
			t.Fatalf("sender %q, exactly %q, loosely %q", e.Sender, sender, loose.Sender)
		}
		_, _ = e.Message()
		_, _ = e.Reaction()
		_, _, _ = e.Member()
		_ = e.Redaction() + e.Successor() + e.Visibility() + e.MembershipChange("@bot:here")
	})
}
