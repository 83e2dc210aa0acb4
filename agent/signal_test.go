package agent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// saying returns a stream in which the assistant has said these pieces, with a tool call for each "".
func saying(pieces ...string) *stream {
	s := &stream{}
	for _, piece := range pieces {
		if piece == "" {
			s.call(gjson.Result{})
		} else {
			s.say(piece)
		}
	}
	return s
}

func readSignal(pieces ...string) Signal { return saying(pieces...).signal() }

const whole = "<<<NEED_INPUT>>>\nWhich?\n<<<CONTEXT>>>\nTwo found.\n<<<END_INPUT>>>\n"

func TestSignal(t *testing.T) {
	asked := func(question, context, before, after string) Signal {
		return Signal{Kind: Asked, Question: question, Context: context, Before: before, After: after}
	}
	plain := func(text string) Signal { return Signal{Before: text} }
	cut := func(text string) Signal { return Signal{Kind: CutOff, Before: text} }
	for _, c := range []struct {
		name, text string
		want       func(text string) Signal
	}{
		{"nothing", "", plain},
		{"an answer", " Done.\n\n", plain},
		{"each marker on its line", `<<<NEED_INPUT>>>
Which database should I back up - production or staging?
<<<CONTEXT>>>
Found two PostgreSQL instances. The plan said "back up the database" but didn't specify which.
<<<END_INPUT>>>`, func(string) Signal {
			return asked("Which database should I back up - production or staging?",
				`Found two PostgreSQL instances. The plan said "back up the database" but didn't specify which.`, "", "")
		}},
		{"text around", "I looked.\n\n" + whole + "\nI wait.\n", func(string) Signal { return asked("Which?", "Two found.", "I looked.", "I wait.") }},
		{"no context", "<<<NEED_INPUT>>>\nWhich?\n<<<END_INPUT>>>", func(string) Signal { return asked("Which?", "", "", "") }},
		{"empty context", "<<<NEED_INPUT>>>\nWhich?\n<<<CONTEXT>>>\n \n<<<END_INPUT>>>", func(string) Signal { return asked("Which?", "", "", "") }},
		{"white space", "  <<<NEED_INPUT>>>  \r\n\r\n  Which?\r\nA or B?\t\r\n<<<CONTEXT>>>\t\r\n x \r\n   <<<END_INPUT>>> \r\n", func(string) Signal { return asked("Which?\r\nA or B?", "x", "", "") }},
		{"fenced", "So:\n```\n" + whole + "```\nok", func(string) Signal { return asked("Which?", "Two found.", "So:", "ok") }},
		{"fenced, named, spaced", "~~~~text\n\n" + whole + "\n~~~~~\n", func(string) Signal { return asked("Which?", "Two found.", "", "") }},
		{"fenced in a list", "- ```\n  " + strings.ReplaceAll(strings.TrimSpace(whole), "\n", "\n  ") + "\n  ```\n", func(string) Signal { return asked("Which?", "Two found.", "", "") }},
		{"code in the question", "<<<NEED_INPUT>>>\nThis?\n```sh\nrm x\n```\n<<<END_INPUT>>>", func(string) Signal { return asked("This?\n```sh\nrm x\n```", "", "", "") }},
		{"after other code", "```\nls\n```\n" + whole, func(string) Signal { return asked("Which?", "Two found.", "```\nls\n```", "") }},
		{"two", whole + strings.ReplaceAll(whole, "Which", "What"), func(string) Signal {
			return asked("Which?", "Two found.", "", "What?\nTwo found.")
		}},
		{"begun again", "<<<NEED_INPUT>>>\nWhi\n" + whole, func(string) Signal { return asked("Which?", "Two found.", "Whi", "") }},
		{"two contexts", "<<<NEED_INPUT>>>\nq\n<<<CONTEXT>>>\na\n<<<CONTEXT>>>\nb\n<<<END_INPUT>>>", func(string) Signal { return asked("q", "a\nb", "", "") }},
		{"a marker in the question's words", "<<<NEED_INPUT>>>\nis <<<NEED_INPUT>>> right?\n<<<END_INPUT>>>", func(string) Signal { return asked("is right?", "", "", "") }},
		{"a marker for a question", "<<<NEED_INPUT>>>\n\\ <<<NEED_INPUT>>>\n<<<END_INPUT>>>", func(string) Signal { return asked("\\", "", "", "") }},
		{"after an empty fence", "```\n\n```\n" + whole, func(string) Signal { return asked("Which?", "Two found.", "```\n\n```", "") }},
		{"not UTF-8", "\xff\n<<<NEED_INPUT>>>\n\xff?\n<<<END_INPUT>>>", func(string) Signal { return asked("\uFFFD?", "", "\uFFFD", "") }},

		{"cut in the question", "So:\n<<<NEED_INPUT>>>\nWhich dat", cut},
		{"cut in the context", "<<<NEED_INPUT>>>\nWhich?\n<<<CONTEXT>>>\nTwo", cut},
		{"cut in the last marker", "<<<NEED_INPUT>>>\nWhich?\n<<<END_INP", cut},
		{"cut in the first marker", "So:\n<<<NEED_IN", cut},
		{"cut after the first marker", "<<<NEED_INPUT>>>", cut},
		{"cut in a fence", "```\n<<<NEED_INPUT>>>\nWhich?\n", cut},
		{"cut in a fence's marker", "```\n<<<NEED_INPUT", cut},
		{"not a marker yet", "So:\n<<<", plain},

		{"quoted, then real", "```\nIt says:\n" + whole + "```\n" + whole, func(string) Signal {
			return asked("Which?", "Two found.", "```\nIt says:\n"+whole+"```", "")
		}},
		{"fence with text before", "```\nprompt:\n" + whole + "```", plain},
		{"fence with text after", "```\n" + whole + "and so on\n```\n", plain},
		{"fence with two", "```\n" + whole + whole + "```\n", plain},
		{"fence with one that starts again", "```\n<<<NEED_INPUT>>>\n" + whole + "```\n", plain},
		{"fence closed before the end", "```\n<<<NEED_INPUT>>>\nWhich?\n```\nis the form.", plain},
		{"open fence with text", "```md\n# Doc\n" + whole, plain},
		{"fence in a fence", "````md\n```\n" + whole + "```\n````", plain},
		{"shorter fence does not close", "````\nx\n```\n" + whole, plain},
		{"other fence does not close", "```\nx\n~~~\n" + whole, plain},
		{"on one line in a fence with text", "```\n<<<NEED_INPUT>>> q <<<END_INPUT>>> and so on\n```", plain},
		{"mentioned in a question's code", "<<<NEED_INPUT>>>\nThis?\n```\necho '<<<END_INPUT>>>' x\n```\n<<<END_INPUT>>>", func(string) Signal {
			return asked("This?\n```\necho '<<<END_INPUT>>>' x\n```", "", "", "")
		}},
		{"block quote", "> " + strings.ReplaceAll(strings.TrimSpace(whole), "\n", "\n> "), plain},
		{"block quote of a fence", "> ```\n> " + strings.ReplaceAll(strings.TrimSpace(whole), "\n", "\n> ") + "\n> ```", plain},
		{"indented code", "    " + strings.ReplaceAll(whole, "\n", "\n    "), plain},
		{"tab", "\t<<<NEED_INPUT>>>\nq\n<<<END_INPUT>>>", plain},
		{"within a sentence", "I would write <<<NEED_INPUT>>> q <<<END_INPUT>>>.", plain},
		{"on one line", "<<<NEED_INPUT>>> q <<<CONTEXT>>> c <<<END_INPUT>>>", func(string) Signal { return asked("q", "c", "", "") }},
		{"on one line, with text around", "So:\n<<<NEED_INPUT>>>q<<<CONTEXT>>>c<<<END_INPUT>>> I wait.\nOK", func(string) Signal { return asked("q", "c", "So:", "I wait.\nOK") }},
		{"on one line without context", "<<<NEED_INPUT>>> q <<<END_INPUT>>>", func(string) Signal { return asked("q", "", "", "") }},
		{"on one long line", "<<<NEED_INPUT>>> " + strings.Repeat("q", 5000) + " <<<CONTEXT>>> c <<<END_INPUT>>>", func(string) Signal { return asked(strings.Repeat("q", 5000), "c", "", "") }},
		{"on two lines", "<<<NEED_INPUT>>> q\n<<<CONTEXT>>> c <<<END_INPUT>>>", func(string) Signal { return asked("q", "c", "", "") }},
		{"markers behind the words", "<<<NEED_INPUT>>>\nq <<<CONTEXT>>>\nc <<<END_INPUT>>>", func(string) Signal { return asked("q", "c", "", "") }},
		{"on one line in a fence", "```\n<<<NEED_INPUT>>> q <<<CONTEXT>>> c <<<END_INPUT>>>\n```\nok", func(string) Signal { return asked("q", "c", "", "ok") }},
		{"on one line in a block quote", "> <<<NEED_INPUT>>> q <<<CONTEXT>>> c <<<END_INPUT>>>", plain},
		{"on one line in indented code", "    <<<NEED_INPUT>>> q <<<END_INPUT>>>", plain},
		{"on one line, no question", "<<<NEED_INPUT>>> <<<CONTEXT>>> c <<<END_INPUT>>>", plain},
		{"cut on its line", "<<<NEED_INPUT>>> q <<<CONTE", cut},
		{"code spans", "`<<<NEED_INPUT>>>`\nq\n`<<<END_INPUT>>>`", plain},
		{"bullets", "- <<<NEED_INPUT>>>\n- <<<CONTEXT>>>\n- <<<END_INPUT>>>", plain},
		{"no question", "<<<NEED_INPUT>>>\n\n<<<CONTEXT>>>\nc\n<<<END_INPUT>>>\nx", plain},
		{"no question in a fence", "```\n<<<NEED_INPUT>>>\n<<<END_INPUT>>>\n```", plain},
		{"spaces", "  \n  ", plain},
		{"other letters", "<<<need_input>>>\nq\n<<<end_input>>>", plain},
		{"ends without a beginning", "q\n<<<CONTEXT>>>\n<<<END_INPUT>>>", plain},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want(c.text)
			if diff := cmp.Diff(want, signalOf(c.text)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, readSignal(strings.SplitAfter(c.text, "")...)); diff != "" {
				t.Errorf("by the character: %s", diff)
			}
		})
	}
}

func TestSignalBreak(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string // a break comes after it
		after  string
		want   Signal
	}{
		{"between lines", "I look.", whole, Signal{Kind: Asked, Question: "Which?", Context: "Two found."}},
		{"ahead of text", "I look.", "I ask.\n" + whole, Signal{Kind: Asked, Question: "Which?", Context: "Two found.", Before: "I ask."}},
		{"in a signal", "<<<NEED_INPUT>>>\nWhich?", "Done.\n<<<END_INPUT>>>", Signal{Before: "Done.\n<<<END_INPUT>>>"}},
		{"in a marker", "<<<NEED_", "Done.", Signal{Before: "Done."}},
		{"in a fence", "```\nls", whole, Signal{Kind: Asked, Question: "Which?", Context: "Two found."}},
		{"after a fenced one", "```\n" + whole + "```", "I went on.", Signal{Kind: Asked, Question: "Which?", Context: "Two found.", After: "I went on."}},
		{"after one", whole + "So.", "I went on.", Signal{Kind: Asked, Question: "Which?", Context: "Two found.", After: "So.\n\nI went on."}},
		{"before all", "", "Done.", Signal{Before: "Done."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &stream{}
			s.say(c.before)
			s.call(gjson.Result{})
			s.say(c.after)
			if diff := cmp.Diff(c.want, s.signal()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If a model's answer was cut and is requested again, the first one does not count.
func TestSignalMark(t *testing.T) {
	for i := range len(whole) {
		var s stream
		s.say("So:\n" + whole[:i])
		s.ask("a")
		s.say(whole[i:] + "void\n```\n" + whole)
		s.ask("a")
		s.say(whole[i:])
		want := Signal{Kind: Asked, Question: "Which?", Context: "Two found.", Before: "So:"}
		if diff := cmp.Diff(want, s.signal()); diff != "" {
			t.Fatalf("mark at %d: %s", i, diff)
		}
	}
}

func TestSignalBounds(t *testing.T) {
	long := strings.Repeat("é", MaxQuestion)
	s := readSignal(long + "\n<<<NEED_INPUT>>>\n" + long + "\n<<<CONTEXT>>>\n" + long + "\n<<<END_INPUT>>>\n" + long)
	if s.Kind != Asked || len(s.Question) > MaxQuestion || len(s.Context) > MaxQuestion || len(s.Before) > MaxText || len(s.After) > MaxText ||
		!strings.HasSuffix(s.Question, "éé") {
		t.Errorf("%q: question %d, context %d, before %d, after %d bytes", s.Kind, len(s.Question), len(s.Context), len(s.Before), len(s.After))
	}
	if s := readSignal("<<<NEED_INPUT>>>\n", strings.Repeat("30 KB ", 5000), "\n<<<END_INPUT>>>"); s.Kind != Asked || len(s.Question) != 29_999 {
		t.Errorf("%d bytes of 30 KB", len(s.Question))
	}
}

func TestInstruction(t *testing.T) {
	s := readSignal(Instruction)
	if s.Kind != Asked || !strings.HasPrefix(s.Question, "the question") || s.Context == "" {
		t.Errorf("the form it shows is not one: %+v", s)
	}
	if strings.ContainsAny(Instruction, "@\x00") {
		t.Error("it would inline a file")
	}
}

func FuzzSignal(f *testing.F) {
	for _, text := range []string{whole, "x\n```\n" + whole + "```\ny", "> " + whole, "<<<NEED_INPUT>>>\n<<<NEED_IN", "  \n ", "~~~\n" + whole + whole, whole + whole, "<<<NEED_<<<END_INPUT>>>INPUT>>>\n", "<<<END_INPUT>>>```\n```\n<<<CONTEXT>>>\n```", "a `<<<CONTEXT>>>` b <<<CONTEXT>>> `", strings.Repeat("é", 3000) + "\n" + whole} {
		f.Add(text, uint(7), uint(20))
	}
	f.Fuzz(func(t *testing.T, text string, i, j uint) {
		n := uint(len(text)) + 1
		i, j = min(i%n, j%n), max(i%n, j%n)
		want := readSignal(text)
		if utf8.ValidString(text[:i]) && utf8.ValidString(text[i:j]) && i > 0 && i < j && j < uint(len(text)) {
			if diff := cmp.Diff(want, readSignal(text[:i], text[i:j], text[j:])); diff != "" {
				t.Fatal(diff)
			}
		}
		texts := []string{Unmark(text)}
		if want.Kind == Asked {
			texts = append(texts, want.Question, want.Context, want.Before, want.After)
		}
		for _, s := range texts {
			if !strings.ContainsAny(text, "`~>\x00") && (hasMarker(s) || Unmark(s) != s) {
				t.Fatalf("%q: %q", s, Unmark(s))
			}
		}
		for _, s := range []string{want.Question, want.Context, want.Before, want.After} {
			if !utf8.ValidString(s) {
				t.Fatalf("%q", s)
			}
		}
		if want.Kind == Asked == (want.Question == "") {
			t.Fatalf("%+v", want)
		}
		Options(text)
		// A text without its own markers is treated as before.
		if strings.Contains(text, "<<<") || strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
			return
		}
		got := readSignal("<<<NEED_INPUT>>>\n" + text + "\n<<<CONTEXT>>>\n" + text + "\n<<<END_INPUT>>>\n")
		question := strings.TrimSpace(text)
		if diff := cmp.Diff(Signal{Kind: Asked, Question: question, Context: question}, got); diff != "" && len(text) < MaxQuestion {
			t.Fatal(diff)
		}
	})
}

// While a text arrives, people see all of it but the question, and no marker at any moment.
func TestDraft(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an answer", "I look.\n\nTwo files.", "I look.\n\nTwo files."},
		{"a question", "So:\n" + whole + "I wait.", "So:"},
		{"a question on one line", "So:\n<<<NEED_INPUT>>> q <<<CONTEXT>>> c <<<END_INPUT>>>", "So:"},
		{"a question in a fence", "So:\n```\n" + whole + "```\nok", "So:"},
		{"code", "So:\n```\nls\n```\nok", "So:\n```\nls\n```\nok"},
		{"part of a marker", "So:\n  <<<NEED_", "So:"},
		{"something like a marker", "So:\n<<<NEEDLE", "So:\n<<<NEEDLE"},
		{"in a sentence", "So: <<<NEED_INP", "So:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range len(c.text) {
				if d := draftOf(c.text[:i+1]); hasMarker(d) || !strings.HasPrefix(c.text, d) {
					t.Fatalf("after %q: %q", c.text[:i+1], d)
				}
			}
			if got := draftOf(c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	var long text
	long.add(strings.Repeat("é", MaxDraft) + "\nend")
	if d := long.draft(); len(d) > MaxDraft || !utf8.ValidString(d) || !strings.HasSuffix(d, "é\nend") {
		t.Errorf("%d bytes", len(d))
	}
	long.add("\n" + strings.Repeat("x", 1<<20))
	if d := long.draft(); d != strings.Repeat("x", MaxDraft) {
		t.Errorf("%d bytes of a long line", len(d))
	}
}

func hasMarker(s string) bool {
	return strings.Contains(s, needInput) || strings.Contains(s, inContext) || strings.Contains(s, endInput)
}
