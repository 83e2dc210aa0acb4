package workspace

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// inlined finds what Gemini CLI would treat as a file to inline: parseAllAtCommands of 0.61.0 looks for an @ without a
// backslash before it.
var inlined = regexp.MustCompile(`(^|[^\\])@[^ \t\n\r,;!?()\[\]{}.]`)

// speaks finds a line that looks like the start of a speaker's message.
var speaks = regexp.MustCompile(`(?m)^[>\s\p{Z}\p{Cf}]*\[[^\n]*?\][\s\p{Z}\p{Cf}]*[:：]`)

// full is an input in which every part contains the same text.
func full(task, asker, said string, n int) Input {
	in := Input{Task: task, Asker: asker, Ended: said, Quote: &Quote{Sender: asker, Text: said}}
	for range n {
		in.Persona = append(in.Persona, Text{asker, said})
		in.History = append(in.History, Turn{"user", task}, Turn{"assistant", said}, Turn{asker, said})
		in.Quote.Before = append(in.Quote.Before, Message{asker, said})
		in.Quote.Files = append(in.Quote.Files, said)
		in.Files = append(in.Files, File{said, said, said, int64(n), said, true, ""})
		in.Answers = append(in.Answers, Answered{said, said, asker})
		in.Steer = append(in.Steer, Message{asker, said})
	}
	return in
}

// check verifies the rules for every prompt, status line and task file.
func check(t *testing.T, in Input) {
	t.Helper()
	prompt := Prompt(in)
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
	if !strings.Contains(prompt, OutboxPath) || !strings.HasSuffix(prompt, ContextPath+".\n") {
		t.Errorf("the prompt ends %.300q", prompt[max(0, len(prompt)-300):])
	}
	checkParts(t, in)
	lines := StatusLines(time.Unix(0, 0), in.Task, in.Ended)
	if strings.Count(lines, "\n") != 3 || !utf8.ValidString(lines) || strings.Contains(lines, "\x00") {
		t.Errorf("status lines %q", lines)
	}
	if file := TaskFile(in.Task); len(file) > MaxTask || file[len(file)-1] != '\n' {
		t.Errorf("task file of %d bytes", len(file))
	}
}

// checkParts verifies the rules for each part.
func checkParts(t *testing.T, in Input) {
	t.Helper()
	if got := persona(in.Persona); len(got) > MaxPersona+len(filesGuard)+200 {
		t.Errorf("persona of %d bytes", len(got))
	}
	if in.Quote != nil {
		lines := strings.Split(strings.TrimSuffix(quotation(in.Quote), "\n\n"), "\n")
		quote := strings.Join(lines[1:], "\n")
		if len(quote) > MaxQuote {
			t.Errorf("quotation of %d bytes", len(quote))
		}
		if line := speaks.FindString(quote); line != "" {
			t.Errorf("the quotation looks like a message of %q", line)
		}
		for _, line := range lines[1:] {
			if !strings.HasPrefix(line, quoteHead) || strings.ContainsAny(line, "\r\v\f\u0085\u2028\u2029") {
				t.Errorf("the quotation is left in %q", line)
			}
		}
	}
	list := inbox(in.Files)
	if len(list) > maxFileList+300 || strings.Count(list, "\n") > MaxFiles+5 || speaks.MatchString(list) {
		t.Errorf("files in %d bytes: %.300q", len(list), list)
	}
	steer := steering(in.Steer)
	if speakers := len(speaks.FindAllString(steer, -1)); len(steer) > MaxSteer || speakers > len(in.Steer) {
		t.Errorf("%d speakers in %d bytes steer: %.300q", speakers, len(steer), steer)
	}
}

// The prompt fits into one argument, however long its parts are.
func TestPromptFits(t *testing.T) {
	for _, text := range []string{"@", "\\@", "€", "\xff", "\xff@", "a b ", "\n", "[a]: ", "\u2028", "> "} {
		for _, n := range []int{200, 200_000} {
			long := strings.Repeat(text, n)
			in := full(long, long, long, 60)
			in.Interrupted, in.Instruction = true, strings.Repeat("x", 200_000)
			for _, in.Resumed = range []bool{false, true} {
				check(t, in)
			}
			in.Answers = nil
			check(t, in)
		}
	}
}

// The newest parts, and those that cannot be read elsewhere, stay in a prompt that is too long.
func TestPromptKeeps(t *testing.T) {
	long := strings.Repeat("word ", 40_000)
	in := full("build a shed "+long, "alice", long, 60)
	in.Persona[0].Content = "Be terse. " + long
	in.Quote.Text = "a red one " + long
	in.Files[0].Path = InboxPath + "/shed.png"
	in.Steer[59].Text = "in green " + long
	in.Answers[59].Answer = "in oak " + long
	in.History[len(in.History)-1].Content = "so be it " + long
	got := Prompt(in)
	for _, want := range []string{"Be terse.", ">     a red one", "- [Voice Message] /workspace/inbox/shed.png", "[alice]: in green", "A: [alice]: in oak",
		"[alice]: so be it", "[alice]: build a shed", "It is in /workspace/task.md"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if len(got) < MaxPrompt*3/4 {
		t.Errorf("only %d bytes", len(got))
	}
}

func FuzzPrompt(f *testing.F) {
	f.Add("-x /quit @file", "alice", "\\@ \\\\@x", 1, true, false)
	f.Add("a\x00b\xff", "@", "\r\n", 2, false, true)
	f.Add("x", "> [a]\n", "> bob wrote:\n[alice]: do\n\u2028[[b]] \u200b: x\n\n\n", 3, false, false)
	f.Fuzz(func(t *testing.T, task, asker, said string, n int, interrupted, resumed bool) {
		in := full(task, asker, said, n&63)
		in.Interrupted, in.Resumed = interrupted, resumed
		check(t, in)
	})
}
