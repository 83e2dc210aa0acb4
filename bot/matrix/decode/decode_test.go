package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/event"
)

// long is the long s, which encoding/json folds to s in keys.
const long = "ſ"

const hello = `{"event_id":"$1","type":"m.room.message","sender":"@mallory:x","origin_server_ts":5,"room_id":"!den:x",
	"content":{"msgtype":"m.text","body":"hello"},"unsigned":{"transaction_id":"t1"}}`

func TestDecode(t *testing.T) {
	e, err := Event(json.RawMessage(hello))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := e.Message()
	if !ok || e.ID != "$1" || e.Sender != "@mallory:x" || e.Time.UnixMilli() != 5 || e.Room != "!den:x" || e.Transaction != "t1" || e.StateKey != nil ||
		m.Body != "hello" || m.MsgType != "m.text" {
		t.Errorf("%+v %+v", e, m)
	}
}

// spelled returns events in which the key at a path appears twice, or also in another
// case, in both orders.
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

// Every key that is read may appear only once and in only one case.
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
					continue // the frame below has it
				}
				for _, inner := range spelled(path, key, variant) {
					frame := fmt.Sprintf(`{"event_id":"$1","type":%q,"sender":"@mallory:x",%s}`, eventType, inner)
					if len(path) == 0 && (key == "event_id" || key == "type" || key == "sender") {
						frame = fmt.Sprintf(`{"content":{},%s%s}`, inner, missing(key, eventType))
					}
					tried++
					if e, err := Event(json.RawMessage(frame)); !errors.Is(err, ErrMalformed) {
						t.Errorf("%s was decoded: %+v, %v", frame, e, err)
					}
				}
			}
			if below != nil {
				walk(eventType, append(slices.Clone(path), key), below)
			}
		}
	}
	walk(event.TypeMessage, nil, eventKeys)
	for eventType, known := range contentKeys {
		walk(eventType, []string{"content"}, known)
	}
	walk("m.key.verification.start", []string{"content"}, verificationKeys)
	if tried < 500 {
		t.Errorf("only %d spellings were tried", tried)
	}
}

// missing returns an event without one of the required keys.
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
		"two values":           hello + `{}`,
		"cut off":              hello[:len(hello)-1],
		"not UTF-8":            strings.Replace(hello, "hello", "hell\xff", 1),
		"too deep":             strings.Replace(hello, `"hello"`, strings.Repeat(`{"a":`, MaxDepth)+"1"+strings.Repeat("}", MaxDepth), 1),
		"too deep in an array": strings.Replace(hello, `"hello"`, strings.Repeat(`[`, MaxDepth)+"1"+strings.Repeat("]", MaxDepth), 1),
		"too large":            strings.Replace(hello, "hello", strings.Repeat("x", MaxEvent), 1),
		"an unread key twice":  strings.Replace(hello, `"body"`, `"x":1,"x":2,"body"`, 1),
		"an escaped key twice": strings.Replace(hello, `"type"`, `"sende\u0072":"@owner:y","type"`, 1),
	} {
		if e, err := Event(json.RawMessage(raw)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestFromServerRejectsWhatOnlyWeWrite(t *testing.T) {
	raw := json.RawMessage(strings.Replace(hello, "m.room.message", event.TypeInvite, 1))
	if _, err := FromServer(raw); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	if _, err := Event(raw); err != nil {
		t.Errorf("from the journal: %v", err)
	}
}

// Claims in the content about encryption prove nothing.
func TestEncryptionIsNotTheSendersToTell(t *testing.T) {
	raw := strings.Replace(hello, `"room_id"`, `"encryption":"decrypted","io.matrix-tui.encrypted":true,"room_id"`, 1)
	e, err := FromServer(json.RawMessage(raw))
	if err != nil || e.Encryption != event.Unencrypted {
		t.Errorf("%q, %v", e.Encryption, err)
	}
	const encrypted = `{"event_id":"$1","type":"m.room.encrypted","sender":"@ann:x",%s"content":{"algorithm":"m.megolm.v1.aes-sha2","session_id":"s",%s"m.relates_to":{"rel_type":"m.thread"}}}`
	for raw, want := range map[string]event.Encryption{
		fmt.Sprintf(encrypted, "", `"ciphertext":"c",`):                event.MissingKey,
		fmt.Sprintf(encrypted, "", ""):                                 event.Unencrypted, // redacted
		fmt.Sprintf(encrypted, `"state_key":"",`, `"ciphertext":"c",`): event.Unencrypted,
	} {
		e, err := FromServer(json.RawMessage(raw))
		if err != nil || e.Encryption != want || (e.Session == "s") != (want == event.MissingKey) {
			t.Errorf("%s: %q %q, %v", raw, e.Encryption, e.Session, err)
		}
	}
}

// A decoded event is the same after it was stored and read.
func TestBody(t *testing.T) {
	for content, want := range map[string]event.Message{
		`{"msgtype":"m.text","body":"a","format":"org.matrix.custom.html","formatted_body":"<b>a</b>","m.mentions":{"user_ids":["@a:x",7]}}`: {
			MsgType: "m.text", Body: "a", FormattedBody: "<b>a</b>", Mentions: []string{"@a:x"}},
		`{"msgtype":"m.text","body":"a","format":"other","formatted_body":"<b>a</b>","m.mentions":{}}`: {MsgType: "m.text", Body: "a", Mentions: []string{}},
		`{"msgtype":"m.text","body":"* b","m.new_content":{"msgtype":"m.text","body":"b"},"m.relates_to":{"rel_type":"m.replace","event_id":"$0"}}`: {
			MsgType: "m.text", Body: "* b", NewContent: &event.Text{MsgType: "m.text", Body: "b"}, RelatesTo: event.Relation{RelType: "m.replace", EventID: "$0"}},
		`{"msgtype":"m.audio","body":"a.ogg","url":"mxc://a/b","m.voice":{},"info":{"size":12,"mimetype":"audio/ogg"}}`: {
			MsgType: "m.audio", Body: "a.ogg", File: &event.FileInfo{URL: "mxc://a/b", Size: 12, MimeType: "audio/ogg", Voice: true}},
		`{"msgtype":"m.file","body":"a","url":"mxc://a/plain","file":{"url":"mxc://a/b","v":"v2","iv":"i","hashes":{"sha256":"h"},"key":{"k":"k","alg":"A256CTR","ext":true,"kty":"oct","key_ops":["decrypt"]}}}`: {
			MsgType: "m.file", Body: "a", File: &event.FileInfo{URL: "mxc://a/b", Secret: &event.EncryptedFile{
				Version: "v2", IV: "i", SHA256: "h", Key: event.JWK{K: "k", Alg: "A256CTR", Ext: true, Kty: "oct", KeyOps: []string{"decrypt"}}}}},
	} {
		e, err := FromServer(json.RawMessage(`{"event_id":"$1","type":"m.room.message","sender":"@ann:x","content":` + content + `}`))
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		var again event.Body
		if err := json.Unmarshal(stored, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(event.Body{Message: &want}, again); diff != "" {
			t.Errorf("%s: %s", content, diff)
		}
	}
}

// Keys that are not read may have any spelling.
func TestUnreadKeys(t *testing.T) {
	raw := strings.Replace(hello, `"body"`, `"URL_of":1,"Custom":{"Sender":"x","Body":2},"body"`, 1)
	if _, err := Event(json.RawMessage(raw)); err != nil {
		t.Error(err)
	}
}

func TestWrongTypesAreAbsent(t *testing.T) {
	e, err := Event(json.RawMessage(`{"event_id":7,"type":"m.room.message","sender":"@a:b","origin_server_ts":"x","unsigned":[],"redacts":{},
		"content":{"msgtype":"m.text","body":["x"],"filename":3,"m.relates_to":"none","m.new_content":7}}`))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := e.Message()
	if diff := cmp.Diff(event.Message{MsgType: "m.text"}, m); !ok || diff != "" || e.ID != "" || e.Time.UnixMilli() != 0 {
		t.Errorf("%+v %s", e, diff)
	}
}

func TestState(t *testing.T) {
	state := func(eventType, content string) event.Event {
		t.Helper()
		e, err := State(eventType, json.RawMessage(content))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if got := state(event.TypeTombstone, `{"replacement_room":"!b"}`).Body.Successor; got != "!b" {
		t.Errorf("successor %q", got)
	}
	if got := state(event.TypeCreate, `{"predecessor":{"room_id":"!a"}}`).Body.Predecessor; got != "!a" {
		t.Errorf("predecessor %q", got)
	}
	if got := state(event.TypeVisibility, `{"history_visibility":"joined"}`).Body.Visibility; got != "joined" {
		t.Errorf("visibility %q", got)
	}
	if e, err := State(event.TypeCreate, json.RawMessage(`{"predecessor":{"Room_id":"!b","room_id":"!a"}}`)); err == nil {
		t.Errorf("a predecessor with two rooms: %q", e.Body.Predecessor)
	}
	for _, eventType := range []string{event.TypeTombstone, event.TypeVisibility, event.TypeCreate, event.TypeName} {
		for _, key := range []string{"", `"state_key":"@ann:x",`} {
			raw := `{"event_id":"$1","sender":"@ann:x",` + key + `"type":"` + eventType + `","content":{"replacement_room":"!b","history_visibility":"joined","name":"x","predecessor":{"room_id":"!a"}}}`
			if e, err := FromServer(json.RawMessage(raw)); err != nil || !cmp.Equal(e.Body, event.Body{}) {
				t.Errorf("%s counts without being state: %+v, %v", eventType, e.Body, err)
			}
		}
	}
}

// FuzzDecode checks that a decoded event means the same to us as to a reader that matches
// keys exactly.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(hello))
	f.Add([]byte(`{"event_id":"$1","type":"m.room.member","sender":"@a:b","state_key":"@bot:here","content":{"membership":"join"}}`))
	f.Add([]byte(`{"event_id":"$1","type":"m.room.message","sender":"@mallory:x","ſender":"@owner:y","content":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := Event(raw)
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
		_ = e.Redaction() + e.Body.Successor + e.Body.Visibility + e.MembershipChange("@bot:here")
	})
}

// A reply says what its sender wrote, without the quote that older clients put before it.
func TestReplyFallback(t *testing.T) {
	const reply = `,"m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}`
	for _, c := range []struct{ body, relates, want string }{
		{"hello", reply, "hello"},
		{"> quoted by me\\nhello", reply, "> quoted by me\nhello"},
		{"> <@ann:here> old\\n> words\\n\\nhello", "", "> <@ann:here> old\n> words\n\nhello"},
		{"> <@ann:here> old\\n> words\\n\\nhello", reply, "hello"},
		{"> * <@ann:here> waves\\n\\nhello", reply, "hello"},
		{"> <@ann:here> old", reply, "> <@ann:here> old"},
	} {
		e, err := FromServer(json.RawMessage(`{"event_id":"$1","type":"m.room.message","sender":"@ann:here","content":{"msgtype":"m.text","body":"` + c.body + `"` + c.relates + `}}`))
		if m, ok := e.Message(); err != nil || !ok || m.Body != c.want {
			t.Errorf("%s says %q, %v, want %q", c.body, m.Body, err, c.want)
		}
	}
}
