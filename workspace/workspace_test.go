package workspace

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPrompt(t *testing.T) {
	const after = `
After completing, append a one-line summary to /workspace/status.md and any
discovered conventions to /workspace/context.md.
`
	const before = "Read /workspace/context.md and /workspace/status.md for prior work context, then:\n"
	tests := []struct {
		name string
		in   Input
		want string
	}{
		{"the seed's", Input{Task: "write a prime checker", Asker: "alice"},
			before + "[alice]: write a prime checker\n" + after},
		{"hostile text", Input{Task: "-rf /quit \"q\" `x` $(y)\r\nsecond\x00 line 🙂 \xff", Asker: "a[b]@/c\n"},
			before + "[abc]: -rf /quit \"q\" `x` $(y)\nsecond line 🙂 \uFFFD\n" + after},
		{"at signs", Input{Task: "@/etc/passwd mail bob@example.org", Asker: ""},
			before + "[user]: \\@/etc/passwd mail bob\\@example.org\n" +
				"\n(Where the text above says \\@, a plain @ is meant; /workspace/task.md has the task as it was written.)\n" + after},
		{"conversation so far", Input{Task: "go on", Asker: "alice", History: []Turn{{"user", "hi @x"}, {"assistant", "ho"}}},
			"The conversation in this room so far:\n\n[user]: hi \\@x\n[assistant]: ho\n\n" + before + "[alice]: go on\n" + after},
		{"after the box went down", Input{Task: "go on", Asker: "alice", Interrupted: true},
			"The machine went down while you worked on the task below. Some of it may be done already: look at what is there, then go on, and do nothing twice.\n\n" +
				before + "[alice]: go on\n" + after},
		{"after a task that was stopped", Input{Task: "what time is it?", Asker: "alice", Ended: "🛑 Stopped, as bob asked."},
			"The task before this one ended otherwise than this session knows. The room was told:\n[bot]: 🛑 Stopped, as bob asked.\n" +
				"Do not go on with that task, unless the text below asks you to.\n\n" + before + "[alice]: what time is it?\n" + after},
		{"with the way to ask", Input{Task: "go on", Asker: "alice", Instruction: "Ask so.\n"},
			before + "[alice]: go on\n\nAsk so.\n" + after},
		{"the answer to its question", Input{Task: "back up the database", Asker: "alice", Resumed: true, Instruction: "Ask so.\n",
			Answers: []Answered{{"Which server?", "the first", "alice"}, {"Which database?", "mail bob@x", "bob"}}},
			"The answer to your question is here. Go on with the task from where you stopped.\n" +
				"Previous answers from user:\nQ: Which database?\nA: [bob]: mail bob\\@x\n" +
				"\nThe task was:\n[alice]: back up the database\n" +
				"\n(Where the text above says \\@, a plain @ is meant; /workspace/task.md has the task as it was written.)\n\nAsk so.\n" + after},
		{"all answers, where the session is gone", Input{Task: "back up the database", Asker: "alice",
			Answers: []Answered{{"Which server?", "the first", "alice"}, {"Which database?", "production", ""}}},
			before + "[alice]: back up the database\n" +
				"\nYou have worked on this task before, and asked. Go on with these answers, and do nothing twice.\n" +
				"Previous answers from user:\nQ: Which server?\nA: [alice]: the first\nQ: Which database?\nA: [user]: production\n" + after},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Prompt(test.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongPrompt(t *testing.T) {
	fits := Prompt(Input{Task: strings.Repeat("x", MaxPrompt-1000), Asker: "alice"})
	if strings.Contains(fits, TaskPath) {
		t.Error("a task that fits was left out")
	}
	long := Prompt(Input{Task: "count the words " + strings.Repeat("x", 200_000), Asker: "alice"})
	if !strings.Contains(long, "It is in "+TaskPath) || !strings.Contains(long, "[alice]: count the words") || len(long) > 5000 {
		t.Errorf("%d bytes: %.300s", len(long), long)
	}
}

// However long everything is, the prompt fits into one argument.
func TestPromptFits(t *testing.T) {
	ats := strings.Repeat("@", 200_000)
	for _, resumed := range []bool{false, true} {
		in := Input{Task: ats, Asker: ats, Ended: ats, Interrupted: true, Instruction: strings.Repeat("x", 2000), Resumed: resumed}
		for range 60 {
			in.History = append(in.History, Turn{"user", ats})
			in.Answers = append(in.Answers, Answered{ats, ats[:32<<10], ats})
		}
		if got := Prompt(in); len(got) > MaxPrompt {
			t.Errorf("resumed %v: %d bytes", resumed, len(got))
		}
	}
}

func TestConversation(t *testing.T) {
	big := strings.Repeat("x", 15_000)
	tests := []struct {
		name  string
		turns []Turn
		want  []string // turns that are told, by their first words
		cut   bool
	}{
		{"none", nil, nil, false},
		{"all fit", []Turn{{"user", "one"}, {"assistant", "two"}}, []string{"one", "two"}, false},
		{"the newest fit", []Turn{{"user", "one " + big}, {"assistant", "two " + big}, {"user", "three " + big}}, []string{"two", "three"}, true},
		{"the newest alone is too long", []Turn{{"user", "one"}, {"assistant", "two " + strings.Repeat("@", MaxHistory)}}, []string{"one", "two"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := conversation(test.turns)
			if len(got) > MaxHistory+100 {
				t.Errorf("%d bytes", len(got))
			}
			var told []string
			for _, m := range regexp.MustCompile(`(?m)^\[\w+\]: (\w+)`).FindAllStringSubmatch(got, -1) {
				told = append(told, m[1])
			}
			if diff := cmp.Diff(test.want, told); diff != "" {
				t.Error(diff)
			}
			if strings.HasPrefix(got, "(older turns left out)\n") != test.cut {
				t.Errorf("begins %.40q", got)
			}
		})
	}
}

func TestStatusLines(t *testing.T) {
	now := time.Date(2026, 2, 24, 2, 45, 31, 0, time.UTC)
	long := strings.Repeat("é", 300)
	tests := []struct{ task, outcome, want string }{
		{"add tests for prime checker", "Created test_utils.py. 5 tests, all passing.",
			"\n[2026-02-24 02:45] Task: add tests for prime checker\n[2026-02-24 02:45] Created test_utils.py. 5 tests, all passing.\n"},
		{"two\nlines\t\x00 and  more", "", "\n[2026-02-24 02:45] Task: two lines and more\n[2026-02-24 02:45] –\n"},
		{long, long, "\n[2026-02-24 02:45] Task: " + strings.Repeat("é", 199) + "…\n[2026-02-24 02:45] " + strings.Repeat("é", 199) + "…\n"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, StatusLines(now, test.task, test.outcome)); diff != "" {
			t.Error(diff)
		}
	}
	want := "# Status Log\n\n[2026-02-24 02:45] Task: a\n[2026-02-24 02:45] b\n\n[2026-02-24 02:45] Task: c\n[2026-02-24 02:45] d\n"
	if diff := cmp.Diff(want, FirstStatus+StatusLines(now, "a", "b")+StatusLines(now, "c", "d")); diff != "" {
		t.Error(diff)
	}
}

func TestTaskFile(t *testing.T) {
	tests := []struct{ task, want string }{
		{"write @x\n\n", "write @x\n"},
		{"a\x00b\xff\r\nc", "ab\uFFFD\nc\n"},
		{"", "\n"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, string(TaskFile(test.task))); diff != "" {
			t.Error(diff)
		}
	}
	if got := len(TaskFile(strings.Repeat("€", MaxTask))); got > MaxTask || got < MaxTask-10 {
		t.Errorf("%d bytes", got)
	}
}

func TestFirstFiles(t *testing.T) {
	want := map[string]string{"/workspace/context.md": "# Context\n", "/workspace/status.md": "# Status Log\n"}
	if diff := cmp.Diff(want, FirstFiles()); diff != "" {
		t.Error(diff)
	}
}

// inlined finds what Gemini CLI takes for a file to inline: parseAllAtCommands
// of 0.61.0 looks for an @ without a backslash before it.
var inlined = regexp.MustCompile(`(^|[^\\])@[^ \t\n\r,;!?()\[\]{}.]`)

// check holds what every prompt, status line and task file must be.
func check(t *testing.T, task, asker, said string, interrupted bool) {
	t.Helper()
	turns := []Turn{{"user", task}, {"assistant", said}, {asker, said}}
	prompt := Prompt(Input{Task: task, Asker: asker, History: turns, Interrupted: interrupted})
	if len(prompt) > MaxPrompt {
		t.Errorf("%d bytes", len(prompt))
	}
	if !utf8.ValidString(prompt) || strings.Contains(prompt, "\x00") {
		t.Error("the prompt cannot be an argument")
	}
	if at := inlined.FindString(prompt); at != "" {
		t.Errorf("%q would inline a file", at)
	}
	if strings.HasPrefix(prompt, "/") || strings.HasPrefix(prompt, "-") {
		t.Errorf("the prompt begins %.10q", prompt)
	}
	lines := StatusLines(time.Unix(0, 0), task, said)
	if strings.Count(lines, "\n") != 3 || !utf8.ValidString(lines) || strings.Contains(lines, "\x00") {
		t.Errorf("status lines %q", lines)
	}
	if file := TaskFile(task); len(file) > MaxTask || file[len(file)-1] != '\n' {
		t.Errorf("task file of %d bytes", len(file))
	}
}

func TestPromptBounds(t *testing.T) {
	for _, text := range []string{"@", "\\@", "€", "\xff", "a b ", "\n"} {
		for _, n := range []int{30_000, 60_000, 200_000} {
			check(t, strings.Repeat(text, n), strings.Repeat(text, n), strings.Repeat(text, n), true)
		}
	}
}

func FuzzPrompt(f *testing.F) {
	f.Add("-x /quit @file", "alice", "\\@ \\\\@x", true)
	f.Add("a\x00b\xff", "@", "\r\n", false)
	f.Fuzz(check)
}
