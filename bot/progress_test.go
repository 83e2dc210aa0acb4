package bot

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/agent"
	"matrix-tui/state"
)

func called(id, tool, detail string) agent.Event {
	return agent.Event{Kind: agent.EventTool, ID: id, Tool: tool, Detail: detail}
}

func returned(id, tool string) agent.Event {
	return agent.Event{Kind: agent.EventToolResult, ID: id, Tool: tool, Detail: "output"}
}

func broke(id, tool, detail string) agent.Event {
	return agent.Event{Kind: agent.EventToolResult, ID: id, Tool: tool, Detail: detail, Failed: true}
}

const shell = "run_shell_command"

// The end of the notice says what it took, and what went wrong on the way.
func TestTaskSummary(t *testing.T) {
	out := agent.Outcome{Ended: agent.Completed, Usage: agent.Usage{Total: 1234}, Tools: map[string]int{shell: 3}}
	crashed := out
	crashed.Ended = agent.Crashed
	for _, c := range []struct {
		name   string
		shown  *progress
		failed int
		out    agent.Outcome
		want   string
	}{
		{"never shown", nil, 0, out, "✅ Done in 5 s · 3 steps · 1,234 tokens"},
		{"none failed", &progress{}, 0, out, "✅ Done in 5 s · 3 steps · 1,234 tokens"},
		{"one failed", &progress{}, 1, out, "✅ Done in 5 s · 3 steps · 1,234 tokens · 1 step failed"},
		{"two failed", &progress{}, 2, crashed, "❌ Ended after 5 s · 3 steps · 1,234 tokens · 2 steps failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.failed {
				c.shown.event("run", called(fmt.Sprint(i), shell, "false"))
				c.shown.event("run", broke(fmt.Sprint(i), shell, "no"))
			}
			task := &task{rec: state.Task{Begun: time.Now().Add(-5500 * time.Millisecond)}, shown: c.shown}
			if diff := cmp.Diff(c.want, task.summary(c.out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The notice is edited when there is news, and now and then for the time.
func TestProgressDue(t *testing.T) {
	p := &progress{since: time.Now()}
	fresh, old := time.Now(), time.Now().Add(-idleEvery)
	due := func(what string, edited time.Time, want bool) {
		t.Helper()
		if text, got := p.due(edited); got != want || got != strings.HasPrefix(text, "⏳ Working on it · ") {
			t.Errorf("%s: %v, %q", what, got, text)
		}
	}
	due("nothing new", fresh, false)
	due("time has gone by", old, true)
	p.event("run", called("a", shell, "ls"))
	due("a step", fresh, true)
	due("shown", fresh, false)
	p.event("run", returned("a", shell))
	due("its end", fresh, true)
	p.event("run", returned("a", ""))
	due("its end again", fresh, false)
	p.set("slow")
	due("a note", fresh, true)
	p.again()
	due("not shown after all", fresh, true)
	p.since = time.Now().Add(-2 * time.Minute)
	due("idle for long", old, false)
}

// Whoever asks what runs does not disturb the run.
func TestProgressNowWhileRunning(t *testing.T) {
	p := &progress{since: time.Now().Add(-time.Minute)}
	var both sync.WaitGroup
	both.Go(func() {
		for i := range 1000 {
			p.event("run", called(fmt.Sprint(i), shell, "ls"))
			p.due(time.Time{})
			p.event("run", returned(fmt.Sprint(i), shell))
		}
	})
	both.Go(func() {
		for range 1000 {
			if step, elapsed := p.now(); elapsed < time.Minute || step != "" && !strings.HasSuffix(step, ": run_shell_command `ls`") {
				t.Errorf("%q after %s", step, elapsed)
			}
		}
	})
	both.Wait()
	if step, _ := p.now(); step != "" || p.steps.Total() != 1000 {
		t.Errorf("%q of %d steps", step, p.steps.Total())
	}
}

// Most of it is shown that fits into an edit, whatever it is.
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
			p := &progress{}
			for i := range 20 {
				p.event("run", called(fmt.Sprint(i), strings.Repeat("<", 64), c.detail))
				p.event("run", broke(fmt.Sprint(i), "x", c.detail))
			}
			text := p.steps.Progress(time.Hour, strings.Repeat("slow ", 300), fitsNotice)
			data, err := json.Marshal(edit("$e", notice(text)))
			if err != nil || len(data) > maxNotice {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			if n := strings.Count(text, "🔧 step "); n != c.steps {
				t.Errorf("%d steps are shown", n)
			}
		})
	}
}

// A client that knows no edits, or no HTML, shows the steps too.
func TestProgressEdit(t *testing.T) {
	p := &progress{}
	p.event("run", called("a", shell, "echo <b>"))
	p.event("run", returned("a", shell))
	m := edit("$e", notice(p.steps.Progress(12*time.Second, "", fitsNotice)))
	const fallback = "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `echo <b>` ✓"
	const rich = "⏳ Working on it · 12 s · step 1<br>\n💻 step 1: run_shell_command <code>echo &lt;b&gt;</code> ✓"
	got := []string{m.Body, m.FormattedBody, m.NewContent.Body, m.NewContent.FormattedBody}
	if diff := cmp.Diff([]string{"* " + fallback, "* " + rich, fallback, rich}, got); diff != "" {
		t.Error(diff)
	}
}
