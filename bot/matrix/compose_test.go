package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Every part of any text is well below 64 KiB.
func TestAnswerFits(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("<&>", 30_000),
		strings.Repeat("\x01", 60_000),
		strings.Repeat("* *a* `b`\n", 9_000),
		"```\n" + strings.Repeat("\"x\"\n", 20_000) + "```",
	} {
		for i, part := range Parts(text) {
			if _, data := encode(state.Message{Txn: strings.Repeat("t", 40), Relation: state.Reply, Target: "$task", Body: part}); len(data) > maxEvent+1<<10 {
				t.Errorf("part %d of %.10q… has %d bytes", i, text, len(data))
			}
		}
	}
}

// Matrix JSON is made here only.
func TestEncode(t *testing.T) {
	const relates = `"m.relates_to":`
	yes := true
	secret := &event.EncryptedFile{Version: "v2", IV: "i", SHA256: "h", Key: event.JWK{K: "k", Alg: "A256CTR", Ext: true, Kty: "oct", KeyOps: []string{"decrypt"}}}
	locked := func(url string) string {
		return `{"url":"` + url + `","v":"v2","iv":"i","hashes":{"sha256":"h"},"key":{"k":"k","alg":"A256CTR","ext":true,"kty":"oct","key_ops":["decrypt"]}}`
	}
	for name, c := range map[string]struct {
		m    state.Message
		want string
	}{
		"text":    {state.Message{Txn: "k", Body: "a"}, `{"msgtype":"m.text","body":"a","m.mentions":{},"io.matrix-tui.txn":"k"}`},
		"notice":  {state.Message{Notice: true, Body: "**a**"}, `{"msgtype":"m.notice","body":"a","format":"org.matrix.custom.html","formatted_body":"<strong>a</strong>","m.mentions":{}}`},
		"mention": {state.Message{Body: "a", Mentions: []string{"@a:x"}}, `{"msgtype":"m.text","body":"a","m.mentions":{"user_ids":["@a:x"]}}`},
		"reply":   {state.Message{Body: "a", Relation: state.Reply, Target: "$1"}, `{"msgtype":"m.text","body":"a","m.mentions":{},` + relates + `{"m.in_reply_to":{"event_id":"$1"}}}`},
		"reply in a thread": {state.Message{Body: "a", Relation: state.Reply, Target: "$1", Thread: "$0"},
			`{"msgtype":"m.text","body":"a","m.mentions":{},` + relates + `{"rel_type":"m.thread","event_id":"$0","m.in_reply_to":{"event_id":"$1"}}}`},
		"more in a thread": {state.Message{Body: "a", Relation: state.Follows, Target: "$1", Thread: "$0"},
			`{"msgtype":"m.text","body":"a","m.mentions":{},` + relates + `{"rel_type":"m.thread","event_id":"$0","is_falling_back":true,"m.in_reply_to":{"event_id":"$1"}}}`},
		"edit": {state.Message{Txn: "k", Notice: true, Body: "**new**", Relation: state.Edit, Target: "$orig"}, `{"msgtype":"m.notice","body":"* new","format":"org.matrix.custom.html","formatted_body":"* <strong>new</strong>",
			"m.mentions":{},"io.matrix-tui.txn":"k","m.relates_to":{"rel_type":"m.replace","event_id":"$orig"},
			"m.new_content":{"msgtype":"m.notice","body":"new","format":"org.matrix.custom.html","formatted_body":"<strong>new</strong>","m.mentions":{}}}`},
		"reaction": {state.Message{Txn: "k", Body: "✅", Relation: state.Reaction, Target: "$1"}, `{` + relates + `{"rel_type":"m.annotation","event_id":"$1","key":"✅"},"io.matrix-tui.txn":"k"}`},
		"file": {state.Message{Body: "a.md", File: &event.FileInfo{URL: "mxc://a/b", MimeType: "text/markdown", Size: 5}},
			`{"msgtype":"m.file","body":"a.md","filename":"a.md","info":{"mimetype":"text/markdown","size":5},"m.mentions":{},"url":"mxc://a/b"}`},
		"image": {state.Message{Body: "a.png", File: &event.FileInfo{URL: "mxc://a/b", Secret: secret, MimeType: "image/png", Size: 5, Width: 2, Height: 3, Animated: &yes,
			Thumb: &event.FileInfo{URL: "mxc://a/c", Secret: secret, MimeType: "image/jpeg", Size: 4, Width: 1, Height: 2}}},
			`{"msgtype":"m.image","body":"a.png","filename":"a.png","m.mentions":{},"file":` + locked("mxc://a/b") + `,"info":{"mimetype":"image/png","size":5,"w":2,"h":3,"org.matrix.msc4230.is_animated":true,
			"thumbnail_file":` + locked("mxc://a/c") + `,"thumbnail_info":{"mimetype":"image/jpeg","size":4,"w":1,"h":2}}}`},
	} {
		eventType, data := encode(c.m)
		var got, want any
		if err := errors.Join(json.Unmarshal(data, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" || (eventType == event.TypeReaction) != (name == "reaction") {
			t.Errorf("%s is a %s:\n%s", name, eventType, diff)
		}
		e, err := decode.FromServer(json.RawMessage(fmt.Sprintf(`{"event_id":"$1","type":%q,"sender":"@bot:here","content":%s}`, eventType, data)))
		if err != nil || e.Transaction != c.m.Txn {
			t.Errorf("%s comes back with %q, %v", name, e.Transaction, err)
		}
	}
}

func TestFileTypes(t *testing.T) {
	for kind, want := range map[string]string{
		"image/png": "m.image", "image/webp": "m.image", "image/svg+xml": "m.file", "image/tiff": "m.file",
		"audio/ogg": "m.audio", "video/mp4": "m.video", "application/gzip": "m.file", "text/html": "m.file",
	} {
		if got := fileMessage("a", event.FileInfo{MimeType: kind}).MsgType; got != want {
			t.Errorf("%s is sent as %s", kind, got)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	text := strings.Repeat("Some *text* with `code` in it.\n\n", 100)
	for b.Loop() {
		Parts(text)
	}
}

// An edit shows as many steps as fit into it, whatever their content.
func TestProgressFits(t *testing.T) {
	if encrypted := maxNotice*4/3 + 1000; encrypted >= 20_000 {
		t.Fatalf("%d bytes encrypted", encrypted)
	}
	for _, c := range []struct {
		name, detail string
		steps        int // shown of 20
	}{
		{"letters", strings.Repeat("x", 200), 10},
		{"backticks", strings.Repeat("`", 200), 10},
		{"quotes", strings.Repeat(`"`, 200), 10},
		{"HTML", strings.Repeat("<&>", 70), 10},
		{"four bytes each", strings.Repeat("😀", 200), 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			var steps text.Steps
			steps.Begin("run")
			for i := range 20 {
				steps.Call(fmt.Sprint(i), strings.Repeat("<", 64), "", c.detail, 0)
				steps.Result(fmt.Sprint(i), "x", c.detail, true)
			}
			shown := steps.Progress(time.Hour, strings.Repeat("slow ", 300), FitsNotice)
			if _, data := encode(state.Message{Relation: state.Edit, Target: "$e", Notice: true, Body: shown}); len(data) > maxNotice {
				t.Errorf("%d bytes", len(data))
			}
			if n := strings.Count(shown, "🔧 step "); n != c.steps {
				t.Errorf("%d steps are shown", n)
			}
		})
	}
}

// A client that does not support edits or HTML also shows the steps.
func TestProgressEdit(t *testing.T) {
	var steps text.Steps
	steps.Begin("run")
	steps.Call("a", "run_shell_command", "", "echo <b>", 5*time.Second)
	steps.Result("a", "run_shell_command", "output", false)
	m := edit(rendered(steps.Progress(12*time.Second, "", FitsNotice)))
	const fallback = "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command echo <b> ✓"
	const rich = "⏳ Working on it · 12 s · step 1<br>\n💻 step 1: run_shell_command <code>echo &lt;b&gt;</code> ✓"
	got := []string{m.Body, m.FormattedBody, m.NewContent.Body, m.NewContent.FormattedBody}
	if diff := cmp.Diff([]string{"* " + fallback, "* " + rich, fallback, rich}, got); diff != "" {
		t.Error(diff)
	}
}

// What a click shows, and what is small, is not in the way where clients do not know it.
func TestFoldAndSmall(t *testing.T) {
	said := func(body, details, small string) *content {
		return shown(state.Message{Body: body, Details: details, Small: small})
	}
	folded, small, both, full := said("✓ 2 < 3 steps", "✓ `ls`\n✗ `rm`", ""), said("It is *done*.", "", "2 steps · <1 s"), said("Done", "✓ ls", "1 s"),
		said(strings.Repeat("<", 2<<10), strings.Repeat("<", 2<<10), "1 s")
	type forms struct{ Body, Formatted string }
	want := []forms{
		{"✓ 2 < 3 steps", "<details><summary>✓ 2 &lt; 3 steps</summary>✓ <code>ls</code><br>\n✗ <code>rm</code></details>"},
		{"It is done.\n\n2 steps · <1 s", "It is <em>done</em>.<p><sub>2 steps · &lt;1 s</sub></p>"},
		{"Done\n\n1 s", "Done<details><summary><sub>1 s</sub></summary>✓ ls</details>"},
	}
	got := []forms{{folded.Body, folded.FormattedBody}, {small.Body, small.FormattedBody}, {both.Body, both.FormattedBody}}
	if diff := cmp.Diff(want, got); diff != "" || folded.Format != formatHTML || small.Format != formatHTML {
		t.Error(diff)
	}
	if strings.Contains(full.FormattedBody, "details") || !strings.HasSuffix(full.FormattedBody, "<p><sub>1 s</sub></p>") {
		t.Errorf("%d bytes with details", len(full.FormattedBody))
	}
}
