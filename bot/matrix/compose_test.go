package matrix

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/text"
)

// Every part of any text is well below 64 KiB.
func TestAnswerFits(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("<&>", 30_000),
		strings.Repeat("\x01", 60_000),
		strings.Repeat("* *a* `b`\n", 9_000),
		"```\n" + strings.Repeat("\"x\"\n", 20_000) + "```",
	} {
		for i, m := range Parts(text, "$task") {
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > maxEvent+1<<10 {
				t.Errorf("part %d of %.10q… has %d bytes", i, text, len(data))
			}
		}
	}
}

func TestEdit(t *testing.T) {
	data, err := json.Marshal(Edit("$orig", Notice("**new**")))
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	_ = json.Unmarshal(data, &got)
	_ = json.Unmarshal([]byte(`{"msgtype":"m.notice","body":"* new","format":"org.matrix.custom.html","formatted_body":"* <strong>new</strong>",
		"m.mentions":{},"m.relates_to":{"rel_type":"m.replace","event_id":"$orig"},
		"m.new_content":{"msgtype":"m.notice","body":"new","format":"org.matrix.custom.html","formatted_body":"<strong>new</strong>","m.mentions":{}}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkAnswer(b *testing.B) {
	text := strings.Repeat("Some *text* with `code` in it.\n\n", 100)
	for b.Loop() {
		Parts(text, "$task")
	}
}

func TestWithTxn(t *testing.T) {
	got, err := WithTxn(json.RawMessage(`{"msgtype":"m.file","body":"a"}`), "k-o1")
	if err != nil {
		t.Fatal(err)
	}
	e, err := decode.FromServer(json.RawMessage(fmt.Sprintf(`{"event_id":"$1","type":"m.room.message","sender":"@bot:here","content":%s}`, got)))
	if err != nil || e.Transaction != "k-o1" {
		t.Errorf("%q in %s, %v", e.Transaction, got, err)
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
			data, err := json.Marshal(Edit("$e", Notice(shown)))
			if err != nil || len(data) > maxNotice {
				t.Errorf("%d bytes, %v", len(data), err)
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
	m := Edit("$e", Notice(steps.Progress(12*time.Second, "", FitsNotice)))
	const fallback = "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command echo <b> ✓"
	const rich = "⏳ Working on it · 12 s · step 1<br>\n💻 step 1: run_shell_command <code>echo &lt;b&gt;</code> ✓"
	got := []string{m.Body, m.FormattedBody, m.NewContent.Body, m.NewContent.FormattedBody}
	if diff := cmp.Diff([]string{"* " + fallback, "* " + rich, fallback, rich}, got); diff != "" {
		t.Error(diff)
	}
}

// What a click shows, and what is small, is not in the way where clients do not know it.
func TestFoldAndSmall(t *testing.T) {
	folded, small, both, full := Text("✓ 2 < 3 steps"), Text("It is *done*."), Text("Done"), Text(strings.Repeat("<", 2<<10))
	folded.Fold("✓ `ls`\n✗ `rm`")
	small.Small("2 steps · <1 s", "")
	both.Small("1 s", "✓ ls")
	full.Small("1 s", strings.Repeat("<", 2<<10))
	type shown struct{ Body, Formatted string }
	want := []shown{
		{"✓ 2 < 3 steps", "<details><summary>✓ 2 &lt; 3 steps</summary>✓ <code>ls</code><br>\n✗ <code>rm</code></details>"},
		{"It is done.\n\n2 steps · <1 s", "It is <em>done</em>.<p><sub>2 steps · &lt;1 s</sub></p>"},
		{"Done\n\n1 s", "Done<details><summary><sub>1 s</sub></summary>✓ ls</details>"},
	}
	got := []shown{{folded.Body, folded.FormattedBody}, {small.Body, small.FormattedBody}, {both.Body, both.FormattedBody}}
	if diff := cmp.Diff(want, got); diff != "" || folded.Format != FormatHTML || small.Format != FormatHTML {
		t.Error(diff)
	}
	if strings.Contains(full.FormattedBody, "details") || !strings.HasSuffix(full.FormattedBody, "<p><sub>1 s</sub></p>") {
		t.Errorf("%d bytes with details", len(full.FormattedBody))
	}
}
