package bot

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/agent"
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

func TestProgressText(t *testing.T) {
	many := []agent.Event{}
	for i := 1; i <= 15; i++ {
		id := fmt.Sprint(i)
		many = append(many, called(id, shell, "echo "+id), returned(id, shell))
	}
	for _, c := range []struct {
		name   string
		events []agent.Event
		note   string
		want   string
	}{
		{"nothing yet", nil, "", "⏳ Working on it · 12 s"},
		{"a note", nil, "the model is slow", "⏳ Working on it · 12 s\n\nthe model is slow"},
		{"one runs", []agent.Event{called("a", shell, "ls -l")}, "", "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `ls -l` …"},
		{"each kind of tool", []agent.Event{
			called("a", "write_file", "/workspace/a"), called("b", "replace", "/workspace/a"), called("c", "read_file", "a"), called("d", "glob", "*.go"),
			called("e", "web_fetch", "https://a.example"), called("f", "save_memory", ""), called("g", "mcp__box__open", "x"), called("h", "approved", "git push"),
		}, "", `⏳ Working on it · 12 s · step 8
✏️ step 1: write_file ` + "`/workspace/a`" + ` …
✏️ step 2: replace ` + "`/workspace/a`" + ` …
📖 step 3: read_file ` + "`a`" + ` …
🔎 step 4: glob ` + "`*.go`" + ` …
🌐 step 5: web_fetch ` + "`https://a.example`" + ` …
🧠 step 6: save_memory …
🔧 step 7: mcp__box__open ` + "`x`" + ` …
💻 step 8: approved ` + "`git push`" + ` …`},
		{"side by side, ended in another order", []agent.Event{
			called("a", shell, "sleep 9"), called("b", "read_file", "/nowhere"), broke("b", "read_file", "File not found"), returned("a", shell), called("c", "glob", "*"),
		}, "still slow", "⏳ Working on it · 12 s · step 3\n💻 step 1: run_shell_command `sleep 9` ✓\n📖 step 2: read_file `/nowhere` ✗ `File not found`\n🔎 step 3: glob `*` …\n\nstill slow"},
		{"an error without words", []agent.Event{called("a", shell, "false"), broke("a", shell, " ")}, "", "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `false` ✗"},
		{"results of nothing", []agent.Event{returned("a", ""), broke("b", "", "x")}, "", "⏳ Working on it · 12 s"},
		{"eleven", many[:22], "", "⏳ Working on it · 12 s · step 11\n… 1 earlier step\n" + lines(2, 11)},
		{"fifteen", many, "", "⏳ Working on it · 12 s · step 15\n… 5 earlier steps\n" + lines(6, 15)},
		{"a name that is markdown", []agent.Event{called("a", "__init__", ""), called("b", "[x](https://a.example)", "y"), called("c", "", "")}, "",
			"⏳ Working on it · 12 s · step 3\n🔧 step 1: `__init__` …\n🔧 step 2: `[x](https://a.example)` `y` …\n🔧 step 3: a tool …"},
		{"text that hides and turns", []agent.Event{called("a", shell, "echo \u202egnp.exe\u2066\u200b\n\x1b[31m\u2028# x\u00a0\xff")}, "",
			"⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `echo gnp.exe [31m # x �` …"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := progressText(12*time.Second, told(c.events...), c.note)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func lines(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf("💻 step %d: run_shell_command `echo %d` ✓", i, i))
	}
	return strings.Join(all, "\n")
}

// told is the list of steps after these events of one run.
func told(events ...agent.Event) stepList {
	p := &progress{}
	for _, e := range events {
		p.event("run", e)
	}
	return p.steps
}

// What is told again is not shown twice, and another run begins anew.
func TestStepListRuns(t *testing.T) {
	p := &progress{}
	has := func(what string, total, failed int, now string) {
		t.Helper()
		type state struct {
			Total, Failed int
			Now           string
		}
		step, _ := p.now()
		if diff := cmp.Diff(state{total, failed, now}, state{p.steps.total, p.failed(), step}); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	has("before anything", 0, 0, "")
	p.tool("approved", "git push")
	p.tool("approved", "git push")
	has("the bot's own, told twice", 1, 0, "step 1: approved `git push`")
	p.event("k-1", agent.Event{Kind: agent.EventText, Text: "Pushed."})
	has("the run has begun", 1, 0, "")
	run := []agent.Event{called("a", shell, "ls"), broke("a", shell, "no"), called("b", shell, "pwd")}
	for _, e := range run {
		p.event("k-1", e)
	}
	has("in the run", 3, 1, "step 3: run_shell_command `pwd`")
	for _, e := range run {
		p.event("k-1", e)
	}
	has("read again", 2, 1, "step 2: run_shell_command `pwd`")
	p.event("k-2", called("c", "glob", "*"))
	has("another run", 1, 0, "step 1: glob `*`")
}

// However long a run is, ten of its steps are kept, and all are counted.
func TestStepListBounds(t *testing.T) {
	huge := strings.Repeat("`<b>\n\u202e\"&", 100_000)
	p := &progress{}
	for i := range 10_000 {
		p.event("run", called(fmt.Sprint("id", i), huge[:200+i%7], huge))
	}
	for i := range 10_000 {
		p.event("run", broke(fmt.Sprint("id", i), "x", huge))
	}
	if p.steps.total != 10_000 || p.failed() != 10_000 {
		t.Errorf("%d steps, %d failed", p.steps.total, p.failed())
	}
	if len(p.steps.newest) != shownSteps || cap(p.steps.newest) > 2*shownSteps {
		t.Errorf("%d steps are kept, in room for %d", len(p.steps.newest), cap(p.steps.newest))
	}
	for _, s := range p.steps.newest {
		if len(s.tool) > 64 || len(s.detail) > detailSize || len(s.fault) > faultSize {
			t.Errorf("step of %d, %d and %d bytes", len(s.tool), len(s.detail), len(s.fault))
		}
	}
}

// Most of it is shown that fits into an edit, whatever it is.
func TestProgressTextFits(t *testing.T) {
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
			text := progressText(time.Hour, p.steps, strings.Repeat("slow ", 300))
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
	text := progressText(12*time.Second, told(called("a", shell, "echo <b>"), returned("a", shell)), "")
	m := edit("$e", notice(text))
	const fallback = "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `echo <b>` ✓"
	const rich = "⏳ Working on it · 12 s · step 1<br>\n💻 step 1: run_shell_command <code>echo &lt;b&gt;</code> ✓"
	got := []string{m.Body, m.FormattedBody, m.NewContent.Body, m.NewContent.FormattedBody}
	if diff := cmp.Diff([]string{"* " + fallback, "* " + rich, fallback, rich}, got); diff != "" {
		t.Error(diff)
	}
}

var ourTags = regexp.MustCompile(`</?code>|<br ?/?>`)

func FuzzProgressText(f *testing.F) {
	f.Add(shell, "ls -l", "exit 1", "the model is slow", 3)
	f.Add("`", "``` `` ````", "\\`", "", 12)
	f.Add("<script>", "</code><img src=x onerror=alert(1)>", "&lt;&#x202e;", "<b>", 10_000)
	f.Add("\u202e\u2066", "a\nb\r\u2028c\x00\x1b[2J", "\xff\xfe", "\n\n# x", 1)
	f.Add("**a**", "||x|| ~~y~~ [z](javascript:alert(1))", "| a |\n|---|", "- - - - -", 11)
	f.Add("-a-", "\\", "<!--", "```", 2)
	f.Fuzz(func(t *testing.T, tool, detail, fault, note string, n int) {
		p := &progress{}
		n = min(max(n, 1), 50)
		for i := range n {
			id := fmt.Sprint(i)
			p.event("run", called(id, tool, detail))
			switch i % 3 {
			case 0:
				p.event("run", broke(id, "x", fault))
			case 1:
				p.event("run", returned(id, "x"))
			}
		}
		if size := noticeSize(progressText(time.Hour, p.steps, note)); size > maxNotice {
			t.Fatalf("%d bytes", size)
		}
		text := progressText(time.Hour, p.steps, "")
		for _, r := range text {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Fatalf("%q in %q", r, text)
			}
		}
		if !utf8.ValidString(text) {
			t.Fatalf("no UTF-8: %q", text)
		}
		rows := strings.Split(text, "\n")
		steps := rows[len(rows)-min(n, len(rows)-1):]
		if n > shownSteps {
			steps = rows[2:]
		}
		for i, row := range steps {
			if want := fmt.Sprintf(" step %d: ", n-len(steps)+i+1); !strings.Contains(row, want) {
				t.Fatalf("no %q in %q", want, row)
			}
		}
		shown := notice(text).FormattedBody
		if shown == "" {
			shown = text
		}
		if rest := ourTags.ReplaceAllString(shown, ""); strings.ContainsAny(rest, "<>") {
			t.Fatalf("HTML of others: %s", shown)
		}
		if got := strings.Count(html.UnescapeString(shown), "\n"); got != len(rows)-1 {
			t.Fatalf("%d lines became %d: %s", len(rows), got+1, shown)
		}
	})
}

func BenchmarkProgressText(b *testing.B) {
	p := &progress{}
	for i := range 12 {
		p.event("run", called(fmt.Sprint(i), shell, "go test ./... # "+strings.Repeat("x", 100)))
	}
	for b.Loop() {
		notice(progressText(time.Minute, p.steps, ""))
	}
}
