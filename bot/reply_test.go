package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/agent"
	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

// A text that names other people pings nobody but who asked.
func TestAnswerMentions(t *testing.T) {
	parts := answer("ask @bob:here or [him](https://matrix.to/#/@bob:here)\n\n"+strings.Repeat("more\n\n", 5000), "$task")
	if len(parts) < 2 {
		t.Fatalf("%d parts", len(parts))
	}
	newTask(nil, state.Task{Requester: "@ann:here"}).mention(parts[0])
	if diff := cmp.Diff(&matrix.Mentions{UserIDs: []string{"@ann:here"}}, parts[0].Mentions); diff != "" {
		t.Error(diff)
	}
	if parts[0].RelatesTo.InReplyTo.EventID != "$task" {
		t.Error("the first part does not reply to the task")
	}
	for _, p := range parts[1:] {
		if diff := cmp.Diff(&matrix.Mentions{}, p.Mentions); diff != "" || p.RelatesTo != nil {
			t.Errorf("a later part mentions or relates: %s", diff)
		}
	}
}

// Whatever the text is, each of its events is far enough under 64 KiB.
func TestAnswerFits(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("<&>", 30_000),
		strings.Repeat("\x01", 60_000),
		strings.Repeat("* *a* `b`\n", 9_000),
		"```\n" + strings.Repeat("\"x\"\n", 20_000) + "```",
	} {
		for i, m := range answer(text, "$task") {
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
	data, err := json.Marshal(edit("$orig", notice("**new**")))
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	_ = json.Unmarshal(data, &got)
	_ = json.Unmarshal([]byte(`{"msgtype":"m.notice","body":"* **new**","format":"org.matrix.custom.html","formatted_body":"* <strong>new</strong>",
		"m.mentions":{},"m.relates_to":{"rel_type":"m.replace","event_id":"$orig"},
		"m.new_content":{"msgtype":"m.notice","body":"**new**","format":"org.matrix.custom.html","formatted_body":"<strong>new</strong>","m.mentions":{}}}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkAnswer(b *testing.B) {
	text := strings.Repeat("Some *text* with `code` in it.\n\n", 100)
	for b.Loop() {
		answer(text, "$task")
	}
}

// An answer of which nothing can be seen is none.
func TestInvisibleAnswer(t *testing.T) {
	got := finalText(agent.Outcome{Ended: agent.Completed, Text: "\x1b[2J\u202E\u0000 \r"})
	if !strings.HasPrefix(got, "⚠️ The agent ended without an answer") {
		t.Errorf("%q", got)
	}
}
