package bottest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpen(t *testing.T) {
	const encrypted = `"algorithm":"m.megolm.v1.aes-sha2","ciphertext":"AwgAEnACgAkLmt6qF44k9x","session_id":"s","sender_key":"k","device_id":"D"`
	for event, want := range map[string]string{
		`{"type":"m.room.encrypted","content":{` + encrypted + `}}`: "",
		`{"type":"m.room.encrypted","content":{` + encrypted + `,"m.relates_to":{"rel_type":"m.thread","event_id":"$1","is_falling_back":true,"m.in_reply_to":{"event_id":"$2"}}}}`: "",
		`{"type":"m.room.encrypted","content":{` + encrypted + `,"io.matrix-tui.txn":"t"}}`:                                                                                         "",
		`{"type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$1","key":"👀"}}}`:                                                                    "",
		`{"type":"m.room.member","state_key":"@bot:x","content":{"membership":"join"}}`:                                                                                             "",
		`{"type":"m.room.encrypted","content":{}}`:                                                                                                                                  "",
		`{"type":"m.room.message","content":{}}`:                                                                                                                                    "",
		`{"type":"m.room.message","content":{"msgtype":"m.notice","body":"working"}}`:                                                                                               "a whole m.room.message",
		`{"type":"m.sticker","content":{"body":"x"}}`:                                                                                                                               "a whole m.sticker",
		`{"type":"m.room.topic","state_key":"","content":{"topic":"x"}}`:                                                                                                            "a whole m.room.topic",
		`{"type":"m.room.encrypted","content":{` + encrypted + `,"body":"x"}}`:                                                                                                      "body",
		`{"type":"m.room.encrypted","content":{` + encrypted + `,"m.new_content":{"body":"x"}}}`:                                                                                    "m.new_content",
		`{"type":"m.room.encrypted","content":{` + encrypted + `,"m.relates_to":{"rel_type":"m.replace","m.new_content":{"b":1}}}}`:                                                 "m.relates_to.m.new_content",
		`{"type":"m.room.encrypted","content":{"algorithm":"none"}}`:                                                                                                                "no ciphertext",
	} {
		if got := open(json.RawMessage(event)); got != want {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}

func TestOpenFiles(t *testing.T) {
	const file = `{"hashes":{"sha256":"h"},"iv":"i","key":{"k":"k"},"url":"mxc://x/encrypted","v":"v2"}`
	for content, want := range map[string][2]int{
		`{"msgtype":"m.text","body":"no mxc here"}`:                                                          {0, 0},
		`{"msgtype":"m.file","file":` + file + `}`:                                                           {0, 1},
		`{"msgtype":"m.image","file":` + file + `,"info":{"thumbnail_file":` + file + `}}`:                   {0, 2},
		`{"msgtype":"m.image","file":` + file + `,"info":{"thumbnail_url":"mxc://x/open"}}`:                  {1, 1},
		`{"msgtype":"m.file","url":"mxc://x/open"}`:                                                          {1, 0},
		`{"msgtype":"m.image","m.new_content":{"url":"mxc://x/open"},"more":["mxc://x/open2",` + file + `]}`: {2, 1},
		`{"msgtype":"m.image","info":{"thumbnail_file":{"url":"mxc://x/open"}}}`:                             {1, 0},
	} {
		var c any
		if err := json.Unmarshal([]byte(content), &c); err != nil {
			t.Fatal(err)
		}
		clear, encrypted := openFiles(c)
		if diff := cmp.Diff(want, [2]int{len(clear), len(encrypted)}); diff != "" {
			t.Errorf("%s: %s", content, diff)
		}
	}
}

func TestMarked(t *testing.T) {
	for script, want := range map[string]bool{
		"# heard\n# also encrypted\nstart\n":    true,
		"# heard\nstart\n":                      false,
		"# also encrypted, they say\nstart\n":   false,
		"start\n-- file --\n# also encrypted\n": false,
	} {
		if got := marked(script, doubleMark); got != want {
			t.Errorf("%q: %v", script, got)
		}
	}
}
