package text

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
)

// toolEvent is a call or its result, as a run reports it.
type toolEvent struct {
	id, tool, purpose, detail string
	result, failed            bool
}

func called(id, tool, detail string) toolEvent { return toolEvent{id: id, tool: tool, detail: detail} }

func returned(id, tool string) toolEvent { return toolEvent{id, tool, "", "output", true, false} }

func broke(id, tool, detail string) toolEvent { return toolEvent{id, tool, "", detail, true, true} }

// take applies the events of a run to the list.
func (l *Steps) take(run string, e toolEvent) {
	if l.Begin(run); e.result {
		l.Result(e.id, e.tool, e.detail, e.failed)
	} else {
		l.Call(e.id, e.tool, e.purpose, e.detail, 5*time.Second)
	}
}

const shell = "run_shell_command"

// fitsNotice estimates the size of an edit as JSON, which contains the text twice.
func fitsNotice(notice string) bool {
	body, formatted := Render(notice)
	data, err := json.Marshal([]string{body, formatted, body, formatted})
	return err == nil && len(data) <= 13<<10
}

func TestProgressText(t *testing.T) {
	many := []toolEvent{}
	for i := 1; i <= 15; i++ {
		id := fmt.Sprint(i)
		many = append(many, called(id, shell, "echo "+id), returned(id, shell))
	}
	for _, c := range []struct {
		name   string
		events []toolEvent
		note   string
		want   string
	}{
		{"nothing yet", nil, "", "⏳ Working on it · 12 s"},
		{"a note", nil, "the model is slow", "⏳ Working on it · 12 s\n\nthe model is slow"},
		{"one runs", []toolEvent{called("a", shell, "ls -l")}, "", "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `ls -l` …"},
		{"what the agent says it does", []toolEvent{{id: "a", tool: shell, purpose: "Run *all*\nthe tests", detail: "cd /workspace && make"}}, "",
			"⏳ Working on it · 12 s · step 1\n💻 step 1: Run \\*all\\* the tests …"},
		{"each kind of tool", []toolEvent{
			called("a", "write_file", "/workspace/a"), called("b", "replace", "/workspace/a"), called("c", "read_file", "a"), called("d", "glob", "*.go"),
			called("e", "web_fetch", "https://a.example"), called("f", "memory_search", "which port?"), called("g", "mcp__shelf__open", "x"), called("h", "approved", "git push"),
		}, "", `⏳ Working on it · 12 s · step 8
✏️ step 1: write_file ` + "`/workspace/a`" + ` …
✏️ step 2: replace ` + "`/workspace/a`" + ` …
📖 step 3: read_file ` + "`a`" + ` …
🔎 step 4: glob ` + "`*.go`" + ` …
🌐 step 5: web_fetch ` + "`https://a.example`" + ` …
🧠 step 6: memory_search ` + "`which port?`" + ` …
🔧 step 7: mcp__shelf__open ` + "`x`" + ` …
💻 step 8: approved ` + "`git push`" + ` …`},
		{"side by side, ended in another order", []toolEvent{
			called("a", shell, "sleep 9"), called("b", "read_file", "/nowhere"), broke("b", "read_file", "File not found"), returned("a", shell), called("c", "glob", "*"),
		}, "still slow", "⏳ Working on it · 12 s · step 3\n💻 step 1: run_shell_command `sleep 9` ✓\n📖 step 2: read_file `/nowhere` ✗ `File not found`\n🔎 step 3: glob `*` …\n\nstill slow"},
		{"an error without a message", []toolEvent{called("a", shell, "false"), broke("a", shell, " ")}, "", "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `false` ✗"},
		{"results of nothing", []toolEvent{returned("a", ""), broke("b", "", "x")}, "", "⏳ Working on it · 12 s"},
		{"eleven", many[:22], "", "⏳ Working on it · 12 s · step 11\n… 1 earlier step\n" + lines(2, 11)},
		{"fifteen", many, "", "⏳ Working on it · 12 s · step 15\n… 5 earlier steps\n" + lines(6, 15)},
		{"a name that is markdown", []toolEvent{called("a", "__init__", ""), called("b", "[x](https://a.example)", "y"), called("c", "", "")}, "",
			"⏳ Working on it · 12 s · step 3\n🔧 step 1: `__init__` …\n🔧 step 2: `[x](https://a.example)` `y` …\n🔧 step 3: a tool …"},
		{"invisible and reordering characters", []toolEvent{called("a", shell, "echo \u202egnp.exe\u2066\u200b\n\x1b[31m\u2028# x\u00a0\xff")}, "",
			"⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `echo gnp.exe # x �` …"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := told(c.events...).Progress(12*time.Second, c.note, fitsNotice)
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

// told returns the list of steps after these events of one run.
func told(events ...toolEvent) *Steps {
	p := &Steps{}
	for _, e := range events {
		p.take("run", e)
	}
	return p
}

// Repeated events are not shown twice, and another run starts a new list.
func TestStepListRuns(t *testing.T) {
	p := &Steps{}
	has := func(what string, total, failed int, now string) {
		t.Helper()
		type state struct {
			Total, Failed int
			Now           string
		}
		if diff := cmp.Diff(state{total, failed, now}, state{p.total, p.failed, p.Now()}); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	has("before anything", 0, 0, "")
	p.Call("approved", "approved", "", "git push", 0)
	p.Call("approved", "approved", "", "git push", 0)
	has("the bot's own, reported twice", 1, 0, "step 1: approved `git push`")
	p.Begin("k-1")
	has("the run has started", 1, 0, "")
	run := []toolEvent{called("a", shell, "ls"), broke("a", shell, "no"), called("b", shell, "pwd")}
	for _, e := range run {
		p.take("k-1", e)
	}
	has("in the run", 3, 1, "step 3: run_shell_command `pwd`")
	for _, e := range run {
		p.take("k-1", e)
	}
	has("read again", 2, 1, "step 2: run_shell_command `pwd`")
	p.take("k-2", called("c", "glob", "*"))
	has("another run", 1, 0, "step 1: glob `*`")
}

// However long a run is, twenty of its steps are kept, and all are counted.
func TestStepListBounds(t *testing.T) {
	huge := strings.Repeat("`<b>\n\u202e\"&", 100_000)
	p := &Steps{}
	for i := range 1_000 {
		p.take("run", called(fmt.Sprint("id", i), huge[:200+i%7], huge))
	}
	for i := range 1_000 {
		p.take("run", broke(fmt.Sprint("id", i), "x", huge))
	}
	if p.total != 1_000 || p.failed != 1_000 {
		t.Errorf("%d steps, %d failed", p.total, p.failed)
	}
	if len(p.newest) != keptSteps || cap(p.newest) > 2*keptSteps {
		t.Errorf("%d steps are kept, in room for %d", len(p.newest), cap(p.newest))
	}
	for _, s := range p.newest {
		if len(s.tool) > 64 || len(s.detail) > detailSize || len(s.fault) > faultSize {
			t.Errorf("step of %d, %d and %d bytes", len(s.tool), len(s.detail), len(s.fault))
		}
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
		p := &Steps{}
		n = min(max(n, 1), 50)
		for i := range n {
			id := fmt.Sprint(i)
			p.take("run", toolEvent{id: id, tool: tool, detail: detail, purpose: []string{"", fault}[i%2]})
			switch i % 3 {
			case 0:
				p.take("run", broke(id, "x", fault))
			case 1:
				p.take("run", returned(id, "x"))
			}
		}
		if text := p.Progress(time.Hour, note, fitsNotice); !fitsNotice(text) {
			t.Fatalf("%d bytes", len(text))
		}
		text := p.Progress(time.Hour, "", fitsNotice)
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
		body, shown := Render(text)
		if shown == "" {
			shown = body
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
	p := &Steps{}
	for i := range 12 {
		p.take("run", called(fmt.Sprint(i), shell, "go test ./... # "+strings.Repeat("x", 100)))
	}
	for b.Loop() {
		Render(p.Progress(time.Minute, "", fitsNotice))
	}
}

// A step that takes long says for how long. What the assistant said before it is its purpose.
func TestLongStep(t *testing.T) {
	var l Steps
	l.Begin("run")
	l.Say("All is there.\n\nI build it now.\n")
	l.take("run", called("a", shell, "make"))
	if got, want := l.Progress(150*time.Second, "", fitsNotice), "⏳ Working on it · 2 min · step 1\n💻 step 1: I build it now. · 2 min …"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// After the end, each step says how it ended and what it was.
func TestDetails(t *testing.T) {
	l := told(toolEvent{id: "a", tool: shell, purpose: "Build all of it", detail: "make"}, returned("a", shell), called("b", "glob", "*"),
		called("c", shell, "git push"), broke("c", shell, "exit code 128: no"))
	fits := func(text string) bool { return len(text) < 200 }
	if got, want := l.Details(fits), "✓ Build all of it `make`\n– glob `*`\n✗ run_shell_command `git push` `exit code 128: no`"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := l.Details(func(text string) bool { return len(text) < 92 }); !strings.HasPrefix(got, "… 1 earlier step\n– glob") {
		t.Errorf("%q", got)
	}
	if got := l.Details(func(string) bool { return false }); got != "" {
		t.Errorf("%q", got)
	}
}

// What the assistant is saying is quoted below the steps, and gives way first.
func TestProgressDraft(t *testing.T) {
	var l Steps
	progress := func() string { return l.Progress(12*time.Second, "", fitsNotice) }
	l.take("run", called("a", shell, "ls"))
	l.take("run", returned("a", shell))
	head := "⏳ Working on it · 12 s · step 1\n💻 step 1: run_shell_command `ls` ✓"
	l.Say("Two files:\n\n- one\u202e")
	if got, want := progress(), head+"\n\n> Two files:\n> \n> - one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l.Say(strings.Repeat("word ", 1000) + "end")
	if got := progress(); len(got) > len(head)+draftSize+20 || !strings.HasPrefix(got, head+"\n\n> … word word ") || !strings.HasSuffix(got, " word end") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	l.Say(strings.Repeat("<&>\"", draftSize/4)) // escaped, it no longer fits
	if got := l.Progress(12*time.Second, "", func(notice string) bool { return len(notice) < 400 }); got != head {
		t.Errorf("%q", got)
	}
	l.take("run", called("b", "glob", "*"))
	if got := progress(); strings.Contains(got, "> ") {
		t.Errorf("after the next step: %q", got)
	}
}
