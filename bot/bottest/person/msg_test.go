package person

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"maunium.net/go/mautrix/event"
)

// read decodes an event as /sync gives it.
func read(t testing.TB, raw string) Msg {
	t.Helper()
	var evt event.Event
	if err := json.Unmarshal([]byte(raw), &evt); err != nil {
		t.Fatal(err)
	}
	return decode("!den:x", &evt)
}

func TestDecode(t *testing.T) {
	head := `"event_id":"$1","sender":"@alice:x","origin_server_ts":1000,`
	base := Msg{Event: "$1", Room: "!den:x", Sender: "@alice:x", Time: time.UnixMilli(1000)}
	for name, c := range map[string]struct {
		raw  string
		want func(*Msg)
		line string
	}{
		"text": {`{` + head + `"type":"m.room.message","content":{"msgtype":"m.text","body":"hi","formatted_body":"<b>hi</b>","m.mentions":{}}}`,
			func(m *Msg) {
				m.Type, m.Kind, m.Body, m.HTML, m.Mentions = "m.room.message", "m.text", "hi", "<b>hi</b>", []string{}
			}, "<alice> hi"},
		"reply with mention": {`{` + head + `"type":"m.room.message","content":{"msgtype":"m.text","body":"done","m.mentions":{"user_ids":["@bob:x"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}}`,
			func(m *Msg) {
				m.Type, m.Kind, m.Body, m.ReplyTo, m.Mentions = "m.room.message", "m.text", "done", "$0", []string{"@bob:x"}
			}, "<alice> (reply) done"},
		"edit": {`{` + head + `"type":"m.room.message","content":{"msgtype":"m.notice","body":"* new","m.new_content":{"msgtype":"m.notice","body":"new"},"m.relates_to":{"rel_type":"m.replace","event_id":"$0"}}}`,
			func(m *Msg) { m.Type, m.Kind, m.Body, m.EditOf = "m.room.message", "m.notice", "new", "$0" },
			"<alice> (notice) (edit) new"},
		"thread": {`{` + head + `"type":"m.room.message","content":{"msgtype":"m.text","body":"t","m.relates_to":{"rel_type":"m.thread","event_id":"$r","is_falling_back":true,"m.in_reply_to":{"event_id":"$l"}}}}`,
			func(m *Msg) {
				m.Type, m.Kind, m.Body, m.Thread, m.ReplyTo = "m.room.message", "m.text", "t", "$r", "$l"
			}, "<alice> (reply) t"},
		"reaction": {`{` + head + `"type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$0","key":"👍"}}}`,
			func(m *Msg) { m.Type, m.Target, m.Key = "m.reaction", "$0", "👍" }, "<alice> reacts 👍"},
		"member": {`{` + head + `"type":"m.room.member","state_key":"@bob:x","content":{"membership":"leave"}}`,
			func(m *Msg) { m.Type, m.Member, m.Membership = "m.room.member", "@bob:x", "leave" }, "* @bob:x: leave"},
		"redaction": {`{` + head + `"type":"m.room.redaction","content":{"redacts":"$0"}}`,
			func(m *Msg) { m.Type, m.Target = "m.room.redaction", "$0" }, "* m.room.redaction by alice"},
		"redacted": {`{` + head + `"type":"m.room.message","content":{},"unsigned":{"redacted_because":{"type":"m.room.redaction","event_id":"$9","sender":"@a:x","content":{}}}}`,
			func(m *Msg) { m.Type, m.Redacted = "m.room.message", true }, "<alice> (removed)"},
		"file": {`{` + head + `"type":"m.room.message","content":{"msgtype":"m.file","body":"a.txt","url":"mxc://x/1"}}`,
			func(m *Msg) { m.Type, m.Kind, m.Body, m.URL = "m.room.message", "m.file", "a.txt", "mxc://x/1" }, "<alice> (file) a.txt"},
		"wrong shapes": {`{` + head + `"type":"m.room.message","content":{"msgtype":7,"body":["x"]}}`,
			func(m *Msg) { m.Type = "m.room.message" }, "<alice> "},
	} {
		t.Run(name, func(t *testing.T) {
			want := base
			c.want(&want)
			got := read(t, c.raw)
			if !strings.Contains(c.raw, string(got.Content)) || len(got.Content) == 0 {
				t.Errorf("content is %s", got.Content)
			}
			got.Content = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if name != "wrong shapes" && got.String() != c.line {
				t.Errorf("line is %q, want %q", got.String(), c.line)
			}
		})
	}
}

func TestFinal(t *testing.T) {
	final := Msg{Type: "m.room.message", Kind: "m.text", ReplyTo: "$0"}
	for name, change := range map[string]func(*Msg){
		"notice":    func(m *Msg) { m.Kind = "m.notice" },
		"edit":      func(m *Msg) { m.EditOf = "$1" },
		"no answer": func(m *Msg) { m.ReplyTo = "" },
		"reaction":  func(m *Msg) { m.Type = "m.reaction" },
	} {
		m := final
		change(&m)
		if m.Final() {
			t.Errorf("%s counts as final", name)
		}
	}
	if !final.Final() || !final.Answers("$0") || final.Answers("$1") {
		t.Error("a final does not count as one")
	}
	beside := Msg{Type: "m.room.message", Kind: "m.text", Room: "!den:x", Txn: "f26e4b8b6c0ba3f6a8d3-f0"}
	if !beside.Final() || beside.Answers("$0") {
		t.Error("nor does one that is not a reply")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"msgtype":"m.text","body":"x","m.new_content":{"m.new_content":null}}`)
	f.Add(`{"m.relates_to":[],"m.mentions":{"user_ids":[null]}}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, content string) {
		if json.Unmarshal([]byte(content), &map[string]any{}) != nil {
			return // no homeserver accepts that
		}
		m := read(t, `{"type":"m.room.message","event_id":"$1","sender":"@a:x","content":`+content+`}`)
		if m.Event != "$1" || m.Sender != "@a:x" {
			t.Errorf("content changes who said it: %+v", m)
		}
		_ = m.String()
	})
}

func TestMsgtype(t *testing.T) {
	for kind, want := range map[string]string{
		"image/png": "m.image", "audio/ogg": "m.audio", "video/mp4": "m.video", "text/plain": "m.file", "image": "m.file",
	} {
		if got := msgtype(kind); got != want {
			t.Errorf("%s is %s, want %s", kind, got, want)
		}
	}
}
