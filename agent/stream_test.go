package agent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"matrix-tui/state/clean"
)

// read feeds the stream to a reader in pieces of at most n bytes (0 = all at once).
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
{"type":"message","role":"assistant","content":"lo"}`, []Event{{Kind: EventText, Text: "Hel"}, {Kind: EventText, Text: "Hello"}}, "Hello"},
		{"a user's message does not count", `{"type":"message","role":"user","content":"hi"}`, nil, ""},
		{"the answer is what follows the last tool", `{"type":"message","role":"assistant","content":"I look."}
{"type":"tool_use","tool_name":"run_shell_command","tool_id":"a","parameters":{"description":"list","command":"ls\n-l"}}
{"type":"tool_result","tool_id":"a","status":"success","output":"one\ntwo"}
{"type":"message","role":"assistant","content":"Two files."}`,
			[]Event{{Kind: EventText, Text: "I look."}, {Kind: EventTool, ID: "a", Tool: "run_shell_command", Detail: "ls -l", Purpose: "list"},
				{Kind: EventToolResult, ID: "a", Tool: "run_shell_command", Detail: "one two"}, {Kind: EventText, Text: "Two files."}}, "Two files."},
		{"a look into the memory", `{"type":"tool_use","tool_name":"mcp_room_memory_search","tool_id":"a","parameters":{"query":"which port?"}}
{"type":"tool_result","tool_id":"a","status":"success","output":"5433"}`,
			[]Event{{Kind: EventTool, ID: "a", Tool: "memory_search", Detail: "which port?"}, {Kind: EventToolResult, ID: "a", Tool: "memory_search", Detail: "5433"}}, ""},
		{"without text after a tool, all text is the answer", `{"type":"message","role":"assistant","content":"I look."}
{"type":"tool_use","tool_name":"x","tool_id":"a"}
{"type":"message","role":"assistant","content":"I look again."}
{"type":"tool_use","tool_name":"x","tool_id":"b"}`,
			[]Event{{Kind: EventText, Text: "I look."}, {Kind: EventTool, ID: "a", Tool: "x"},
				{Kind: EventText, Text: "I look again."}, {Kind: EventTool, ID: "b", Tool: "x"}}, "I look.\n\nI look again."},
		{"a tool that failed says why", `{"type":"tool_result","tool_id":"a","status":"error","output":"no","error":{"type":"t","message":"File not found: /x"}}`,
			[]Event{{Kind: EventToolResult, ID: "a", Failed: true, Detail: "File not found: /x"}}, ""},
		{"a command that failed says how", `{"type":"tool_use","tool_name":"run_shell_command","tool_id":"a","parameters":{"command":"git push\n"}}
{"type":"tool_use","tool_name":"run_shell_command","tool_id":"b","parameters":{"command":"git pull"}}
{"type":"exit","command":"git push","said":"exit code 128"}
{"type":"exit","command":"git fetch","said":"exit code 1"}
{"type":"tool_result","tool_id":"a","status":"success","output":"fatal: no\nremote"}
{"type":"tool_result","tool_id":"b","status":"success"}`,
			[]Event{{Kind: EventTool, ID: "a", Tool: "run_shell_command", Detail: "git push"}, {Kind: EventTool, ID: "b", Tool: "run_shell_command", Detail: "git pull"},
				{Kind: EventToolResult, ID: "a", Tool: "run_shell_command", Failed: true, Detail: "exit code 128: fatal: no remote"},
				{Kind: EventToolResult, ID: "b", Tool: "run_shell_command"}}, ""},
		{"noise between the lines", "npm notice\n\n[1]\nnull\n{\n{}\n{\"type\":7}\n\xff\xfe\n" + `{"type":"message","role":"assistant","content":"still here"}` + "\r\n",
			[]Event{{Kind: EventText, Text: "still here"}}, "still here"},
		{"a field of another type is left out", `{"type":"message","role":"assistant","content":"yes","status":{"a":1},"delta":"maybe","message":5}`,
			[]Event{{Kind: EventText, Text: "yes"}}, "yes"},
		{"errors are reported", `{"type":"error","severity":"warning","message":"Loop detected,\nstopping execution"}`,
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
		t.Error("a cut line is not reported")
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
		t.Errorf("%d bytes are kept for a line that has ended", cap(s.line))
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
	if len(s.tools) > maxNames+1 || len(s.calls.open) > maxNames || len(s.errors) != maxErrors || calls(s) != 5*maxNames {
		t.Errorf("%d tools, %d open, %d errors, %d calls", len(s.tools), len(s.calls.open), len(s.errors), calls(s))
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
		t.Error("a result with odd stats does not count")
	}
}

func TestClosed(t *testing.T) {
	whole := `{"a":"x\u00e9\n\"y\"","b":[1,{"c":"\\"}]}`
	for n := range len(whole) {
		s := &stream{}
		s.line, s.cut = []byte(whole[:n]), true
		s.endLine() // must not panic, whatever the cut
	}
	for in, want := range map[string]string{
		`{"a":"x`:       `x`,
		`{"a":"x\`:      `x`,
		`{"a":"x\\`:     `x`,
		`{"a":"x\u00`:   `x`,
		`{"a":"x","b":`: `x`,
	} {
		if got := gjson.GetBytes(closed([]byte(in)), "a").Str; got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{" a\n\tb \x00\x1b[0m c ", 99, "a b c"},
		{"aaaa", 4, "aaaa"},
		{"ääää", 6, "ä…"},
		{"\xff", 9, "\uFFFD"},
		{"", 9, ""},
	} {
		if got := clean.Line(c.in, c.n); got != c.want {
			t.Errorf("clean.Line(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// FuzzStream: the reader survives any input, uses bounded memory, and gives the same result however the input is cut.
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
			t.Errorf("pieces change the answer, or %d of %d bytes were read", s.written, len(in))
		}
		if d := cmp.Diff(whole.signal(), s.signal()); d != "" {
			t.Errorf("pieces change the question:\n%s", d)
		}
		if d := cmp.Diff(whole.held, s.held); d != "" {
			t.Errorf("pieces change the command that needs approval:\n%s", d)
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
