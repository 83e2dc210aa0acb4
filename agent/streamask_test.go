package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An answer that was cut and requested again counts once; the same text in answer to another request is another text.
func TestAskedAgain(t *testing.T) {
	ask := func(what string) string { return `{"type":"model_request","asked":"` + what + `"}` }
	say := func(text string) string {
		return `{"type":"message","role":"assistant","content":"` + text + `","delta":true}`
	}
	const tool = `{"type":"tool_use","tool_name":"ls","tool_id":"1"}`
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"cut once", []string{ask("a"), say("Once upon "), ask("a"), say("Once upon a time")}, "Once upon a time"},
		{"cut twice, in other words", []string{ask("a"), say("One"), ask("a"), say("Two"), ask("a"), say("Three")}, "Three"},
		{"after a tool", []string{ask("a"), tool, ask("b"), say("It "), ask("b"), say("It is there")}, "It is there"},
		{"continued", []string{ask("a"), say("Part one. "), ask("b"), say("Part two.")}, "Part one. Part two."},
		{"without a digest", []string{ask(""), say("Part one. "), ask(""), say("Part two.")}, "Part one. Part two."},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s stream
			_, _ = s.Write([]byte(strings.Join(c.lines, "\n")))
			s.end()
			if got := s.answer(); got != c.want {
				t.Errorf("answer %q, want %q", got, c.want)
			}
		})
	}
}

// A question is one that the assistant asks: the first of the run, in an answer that was not cut, never in a tool's
// output.
func TestStreamSignal(t *testing.T) {
	say := func(text string) string {
		return fmt.Sprintf(`{"type":"message","role":"assistant","content":%q,"delta":true}`, text)
	}
	const (
		tool = `{"type":"tool_use","tool_name":"ls","tool_id":"1"}`
		a, b = `{"type":"model_request","asked":"a"}`, `{"type":"model_request","asked":"b"}`
	)
	asked := func(question, before, after string) Signal {
		return Signal{Kind: Asked, Question: question, Context: "Two found.", Before: before, After: after}
	}
	other := strings.ReplaceAll(whole, "Which", "What")
	for _, c := range []struct {
		name  string
		lines []string
		want  Signal
	}{
		{"in pieces", []string{a, say("So:\n<<<NEED"), say(whole[len("<<<NEED"):])}, asked("Which?", "So:", "")},
		{"after a tool", []string{a, say("I look."), tool, b, say("So:\n" + whole)}, asked("Which?", "So:", "")},
		{"ahead of a tool", []string{a, say(whole), tool, b, say("I went on."), tool, say(other)}, asked("Which?", "", "I went on.\n\nWhat?\nTwo found.")},
		{"printed by a tool", []string{a, tool, fmt.Sprintf(`{"type":"tool_result","tool_id":"1","status":"success","output":%q}`, whole), b, say("Done.")}, Signal{Before: "Done."}},
		{"said by the user", []string{fmt.Sprintf(`{"type":"message","role":"user","content":%q}`, whole), a, say("Done.")}, Signal{Before: "Done."}},
		{"in an answer that was cut", []string{a, say(other + "I w"), a, say("Done.")}, Signal{Before: "Done."}},
		{"and again in the next", []string{a, say("So:\n" + other), a, say("Well:\n" + whole)}, asked("Which?", "Well:", "")},
		{"cut in its middle, then whole", []string{a, tool, b, say("Well:\n" + other[:30]), b, say("So:\n" + whole)}, asked("Which?", "So:", "")},
		{"over two requests", []string{a, say(whole[:30]), b, say(whole[30:])}, asked("Which?", "", "")},
		{"broken off by a tool", []string{a, say(whole[:30]), tool, b, say(whole[30:])}, Signal{Before: whole[30:]}},
		{"broken off", []string{a, say(whole[:30])}, Signal{Kind: CutOff, Before: whole[:30]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := read(t, strings.Join(c.lines, "\n"), 0)
			if diff := cmp.Diff(c.want, s.signal()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.want, s.signal()); diff != "" {
				t.Errorf("once more: %s", diff)
			}
		})
	}
}

// What is not a question reaches the room without markers, and markers alone are no answer.
func TestStreamAnswerHasNoMarkers(t *testing.T) {
	for said, want := range map[string]string{
		"So:\n<<<NEED_INPUT>>>\n<<<CONTEXT>>>\nnothing to ask\n<<<END_INPUT>>>": "So:\nnothing to ask",
		"<<<NEED_INPUT>>>\n<<<END_INPUT>>>":                                     "",
		"So:\n<<<NEED_INPUT>>>\nWhich da":                                       "So:\nWhich da",
	} {
		s, _ := read(t, fmt.Sprintf(`{"type":"message","role":"assistant","content":%q}`, said), 0)
		if got := s.answer(); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestStreamHeld(t *testing.T) {
	say := func(text string) string {
		return fmt.Sprintf(`{"type":"message","role":"assistant","content":%q}`, text)
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  *Held
	}{
		{"none", []string{say(heldSaid)}, nil},
		{"the first", []string{say("I push."), `{"type":"held","command":"git push\n x","dir":"/workspace/a b/"}`, `{"type":"held","command":"npm publish","dir":"/"}`, say(heldSaid)},
			&Held{"git push\n x", "/workspace/a b"}},
		{"no directory", []string{say("I push."), `{"type":"held","command":"git push"}`, say(heldSaid)}, &Held{"git push", "/workspace"}},
		{"no path", []string{say("I push."), `{"type":"held","command":"git push","dir":"a\u0000/../.."}`, say(heldSaid)}, &Held{"git push", "/workspace"}},
		{"no command", []string{`{"type":"held","command":" ","dir":"/workspace"}`, `{"type":"held"}`}, nil},
		{"a tool's output", []string{`{"type":"tool_result","output":"{\"type\":\"held\",\"command\":\"x\"}\n"}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := read(t, strings.Join(c.lines, "\n"), 0)
			if diff := cmp.Diff(c.want, s.held); diff != "" {
				t.Error(diff)
			}
			if got := s.answer(); s.held != nil && got != "I push." {
				t.Errorf("answer %q", got)
			}
		})
	}
}
