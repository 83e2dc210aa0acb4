package agent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read gives the stream to a reader in pieces of at most n bytes (0 = at once).
func read(t testing.TB, input string, n int) (*stream, []Event) {
	t.Helper()
	var events []Event
	s := &stream{emit: func(e Event) { events = append(events, e) }}
	for rest := input; rest != ""; {
		piece := rest
		if n > 0 && len(piece) > n {
			piece = piece[:n]
		}
		rest = rest[len(piece):]
		if w, err := s.Write([]byte(piece)); w != len(piece) || err != nil {
			t.Fatalf("Write = %d, %v", w, err)
		}
	}
	s.end()
	return s, events
}

func TestStreamEvents(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []Event
		answer   string
	}{
		{"text comes in pieces", `{"type":"message","role":"assistant","content":"Hel"}
{"type":"message","role":"assistant","content":"lo"}`, []Event{{Kind: EventText, Text: "Hel"}, {Kind: EventText, Text: "lo"}}, "Hello"},
		{"what a user said is not ours", `{"type":"message","role":"user","content":"hi"}`, nil, ""},
		{"the answer is what follows the last tool", `{"type":"message","role":"assistant","content":"I look."}
{"type":"tool_use","tool_name":"run_shell_command","tool_id":"a","parameters":{"description":"list","command":"ls\n-l"}}
{"type":"tool_result","tool_id":"a","status":"success","output":"one\ntwo"}
{"type":"message","role":"assistant","content":"Two files."}`,
			[]Event{{Kind: EventText, Text: "I look."}, {Kind: EventTool, ID: "a", Tool: "run_shell_command", Detail: "ls -l"},
				{Kind: EventToolResult, ID: "a", Tool: "run_shell_command", Detail: "one two"}, {Kind: EventText, Text: "Two files."}}, "Two files."},
		{"without words after a tool, all words are the answer", `{"type":"message","role":"assistant","content":"I look."}
{"type":"tool_use","tool_name":"x","tool_id":"a"}
{"type":"message","role":"assistant","content":"I look again."}
{"type":"tool_use","tool_name":"x","tool_id":"b"}`,
			[]Event{{Kind: EventText, Text: "I look."}, {Kind: EventTool, ID: "a", Tool: "x"},
				{Kind: EventText, Text: "I look again."}, {Kind: EventTool, ID: "b", Tool: "x"}}, "I look.\n\nI look again."},
		{"a tool that failed says why", `{"type":"tool_result","tool_id":"a","status":"error","output":"no","error":{"type":"t","message":"File not found: /x"}}`,
			[]Event{{Kind: EventToolResult, ID: "a", Failed: true, Detail: "File not found: /x"}}, ""},
		{"noise between the lines", "npm notice\n\n[1]\nnull\n{\n{}\n{\"type\":7}\n\xff\xfe\n" + `{"type":"message","role":"assistant","content":"still here"}` + "\r\n",
			[]Event{{Kind: EventText, Text: "still here"}}, "still here"},
		{"a field of another type is left out", `{"type":"message","role":"assistant","content":"yes","status":{"a":1},"delta":"maybe","message":5}`,
			[]Event{{Kind: EventText, Text: "yes"}}, "yes"},
		{"errors are told", `{"type":"error","severity":"warning","message":"Loop detected,\nstopping execution"}`,
			[]Event{{Kind: EventError, Failed: true, Detail: "Loop detected, stopping execution"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{0, 1, 7} {
				s, events := read(t, c.in, size)
				if d := cmp.Diff(c.want, events); d != "" {
					t.Errorf("events, pieces of %d (-want +got):\n%s", size, d)
				}
				if d := cmp.Diff(c.answer, s.answer()); d != "" {
					t.Errorf("answer, pieces of %d (-want +got):\n%s", size, d)
				}
			}
		})
	}
}

func TestStreamSaysWhatWasDropped(t *testing.T) {
	s, _ := read(t, `{"type":"truncated","dropped":9}`+"\n"+`rest of a line"}`+"\n"+`{"type":"message","role":"assistant","content":"end"}`, 0)
	if !s.truncated || s.answer() != "end" {
		t.Errorf("truncated %v, answer %q", s.truncated, s.answer())
	}
}

func TestStreamCutsLongLines(t *testing.T) {
	said := strings.Repeat("äöü\\n\\u00e9", maxLine/10)
	s, events := read(t, `{"type":"message","role":"assistant","content":"`+said+`","delta":true}`+"\n"+
		`{"type":"tool_use","tool_id":"a","tool_name":"write_file","parameters":{"content":"`+strings.Repeat("x", 3*maxLine)+`","file_path":"/a"}}`+"\n"+
		`{"type":"result","status":"success"}`+"\n", 4096)
	if !s.truncated {
		t.Error("a cut line is not told")
	}
	if len(events) != 2 || events[1].Tool != "write_file" {
		t.Fatalf("%d events", len(events))
	}
	if n := len(s.answer()); n < maxLine/2 || n > maxLine {
		t.Errorf("%d bytes of the long line are left", n)
	}
	if s.result == nil || !s.result.ok {
		t.Error("the line after the long one is lost")
	}
	if cap(s.line) > 64<<10 {
		t.Errorf("%d bytes are held for a line that is over", cap(s.line))
	}
}

func TestStreamBounds(t *testing.T) {
	piece := strings.Repeat("0123456789", 50_000)
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"%d %s\"}\n", i, piece)
	}
	s, _ := read(t, b.String(), 0)
	if got := len(s.answer()); got != MaxText || !s.truncated {
		t.Errorf("text of %d bytes, truncated %v; want %d, true", got, s.truncated, MaxText)
	}

	b.Reset()
	for i := range 5 * maxNames {
		fmt.Fprintf(&b, "{\"type\":\"tool_use\",\"tool_name\":\"tool%d\",\"tool_id\":\"%d\"}\n{\"type\":\"error\",\"message\":\"e%d\"}\n", i, i, i)
	}
	s, _ = read(t, b.String(), 0)
	if len(s.tools) > maxNames+1 || len(s.open) > maxNames || len(s.errors) != maxErrors || calls(s) != 5*maxNames {
		t.Errorf("%d tools, %d open, %d errors, %d calls", len(s.tools), len(s.open), len(s.errors), calls(s))
	}
	if got, want := s.errors[maxErrors-1], fmt.Sprintf("e%d", 5*maxNames-1); got != want {
		t.Errorf("newest error %q, want %q", got, want)
	}
}

func TestStreamResult(t *testing.T) {
	s, _ := read(t, `{"type":"result","status":"error","error":{"type":"FatalTurnLimitedError","message":"too many"},"stats":{"total_tokens":9,"input_tokens":5,"output_tokens":4,"cached":2}}`, 0)
	want := &result{kind: "FatalTurnLimitedError", error: "too many", usage: Usage{Input: 5, Output: 4, Cached: 2, Total: 9}}
	if d := cmp.Diff(want, s.result, cmp.AllowUnexported(result{})); d != "" {
		t.Error(d)
	}
	if s, _ := read(t, `{"type":"result","status":"success","stats":"none","error":[1]}`, 0); s.result == nil || !s.result.ok {
		t.Error("a result with odd stats is no result")
	}
}

func TestMend(t *testing.T) {
	whole := `{"a":"x\u00e9\n\"y\"","b":[1,{"c":"\\"}]}`
	for n := range len(whole) {
		s := &stream{}
		s.line, s.cut = []byte(whole[:n]), true
		s.endLine() // must not panic, whatever the cut
	}
	for in, want := range map[string]string{
		`{"a":"x`:            `{"a":"x"}`,
		`{"a":"x\`:           `{"a":"x"}`,
		`{"a":"x\\`:          `{"a":"x\\"}`,
		`{"a":"x\u00`:        `{"a":"x"}`,
		`{"a":[{"b":"c\"{[d`: `{"a":[{"b":"c\"{[d"}]}`,
		`]}`:                 `]}`,
	} {
		if got := string(mend([]byte(in))); got != want {
			t.Errorf("mend(%s) = %s, want %s", in, got, want)
		}
	}
}

// An answer that was cut and asked for again counts once; the same text in
// answer to another request is another text.
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
		{"cut twice, told in other words", []string{ask("a"), say("One"), ask("a"), say("Two"), ask("a"), say("Three")}, "Three"},
		{"after a tool", []string{ask("a"), tool, ask("b"), say("It "), ask("b"), say("It is there")}, "It is there"},
		{"gone on with", []string{ask("a"), say("Part one. "), ask("b"), say("Part two.")}, "Part one. Part two."},
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

// A question is one that the assistant asks: the first of the run, in an answer
// that was not cut, and never what a tool printed.
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
		{"ahead of a tool", []string{a, say(whole), tool, b, say("I went on."), tool, say(other)}, asked("Which?", "", "I went on.\n\n"+strings.TrimSpace(other))},
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
			if diff := cmp.Diff(c.want, s.signal.End()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.want, s.signal.End()); diff != "" {
				t.Errorf("once more: %s", diff)
			}
		})
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

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{" a\n\tb \x00\x1b c ", 99, "a b c"},
		{"aaaa", 4, "aaaa"},
		{"ääää", 6, "ä…"},
		{"\xff", 9, "\uFFFD"},
		{"", 9, ""},
	} {
		if got := oneLine(c.in, c.n); got != c.want {
			t.Errorf("oneLine(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// FuzzStream: whatever comes, in whatever pieces, the reader survives it, holds
// a bounded amount, and says the same.
func FuzzStream(f *testing.F) {
	for _, tr := range transcripts(f) {
		f.Add(tr.stdout, uint64(1))
	}
	f.Add("{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"\\ud83d\"}\n{\"type\":\"result\"", uint64(7))
	f.Fuzz(func(t *testing.T, in string, seed uint64) {
		whole, want := read(t, in, 0)
		s := &stream{}
		var got []Event
		s.emit = func(e Event) { got = append(got, e) }
		random := rand.New(rand.NewPCG(seed, seed))
		for rest := in; rest != ""; {
			n := 1 + random.IntN(len(rest))
			s.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		s.end()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("pieces change the events (-whole +pieces):\n%s", d)
		}
		if s.answer() != whole.answer() || s.written != int64(len(in)) {
			t.Errorf("pieces change the answer, or %d bytes taken of %d", s.written, len(in))
		}
		if d := cmp.Diff(whole.signal.End(), s.signal.End()); d != "" {
			t.Errorf("pieces change the question:\n%s", d)
		}
		if d := cmp.Diff(whole.held, s.held); d != "" {
			t.Errorf("pieces change what is held back:\n%s", d)
		}
		if len(s.answer()) > MaxText || cap(s.line) > 2*maxLine || len(s.tools) > maxNames+1 {
			t.Error("no bound holds")
		}
		for _, e := range got {
			if len(e.Detail) > 200 || len(e.Tool) > 64 || strings.ContainsAny(e.Detail+e.Tool, "\n\x00") {
				t.Errorf("event not fit to be shown: %+v", e)
			}
		}
	})
}
