package agenttest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Requests in the shapes Gemini CLI 0.61.0 sends.
const (
	first = `{"systemInstruction":{"parts":[{"text":"You are an agent"}]},"contents":[
		{"role":"user","parts":[{"text":"<session_context>\nFolder: prime.py\n</session_context>\nwrite a checker"}]}]}`
	afterTools = `{"contents":[
		{"role":"user","parts":[{"text":"write a checker"}]},
		{"role":"model","parts":[{"functionCall":{"name":"write_file","args":{"file_path":"a.py"}}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"write_file","response":{"output": "ok a.py"}}},
			{"functionResponse":{"name":"run_shell_command","response":{"output":"hi"}}}]}]}`
	second = `{"contents":[
		{"role":"user","parts":[{"text":"write a checker"}]},
		{"role":"user","parts":[{"functionResponse":{"name":"write_file","response":{}}}]},
		{"role":"model","parts":[{"text":"done"}]},
		{"role":"user","parts":[{"text":"add tests"}]}]}`
	question = `{"contents":[{"role":"user","parts":[{"text":"write a checker"}]},{"role":"user","parts":[{"text":"who is next?"}]}],
		"generationConfig":{"responseMimeType":"application/json"}}`
	digest = `{"contents":[{"role":"user","parts":[{"text":"write a checker"}]},{"role":"user","parts":[{"text":"make a <state_snapshot>"}]}]}`
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		name, rule, request string
		want                bool
	}{
		{"when, newest text", "when: 'write a checker'", first, true},
		{"when, not the CLI's context", "when: 'prime.py'", first, false},
		{"when, not an older text", "when: checker", second, false},
		{"when, newest of several", "when: '^add tests$'", second, true},
		{"when, not after tools", "when: checker", afterTools, false},
		{"tool", "tool: '^write_file .*a\\.py'", afterTools, true},
		{"tool, second of two", "tool: '(?m)^run_shell_command .*hi'", afterTools, true},
		{"tool, not once the user spoke", "tool: write_file", second, false},
		{"tool and when", "tool: write_file\n  when: checker", afterTools, true},
		{"tool and another when", "tool: write_file\n  when: tests", afterTools, false},
		{"system", "system: 'an agent'", first, true},
		{"no system instruction", "system: agent", second, false},
		{"sent, history and calls", "sent: '(?s)checker.*write_file \\{\"file_path\":\"a.py\"\\}'", afterTools, true},
		{"sent, the context too", "sent: prime.py", first, true},
		{"nothing asked", "finish: STOP", afterTools, true},
		{"JSON is not for rules", "finish: STOP", question, false},
		{"JSON on demand", "json: true", question, true},
		{"only rules with when see a digest", "finish: STOP", digest, false},
		{"digest on demand", "when: state_snapshot", digest, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Load([]byte("rules:\n- say: x\n  " + c.rule))
			if err != nil {
				t.Fatal(err)
			}
			v, err := parse([]byte(c.request))
			if err != nil {
				t.Fatal(err)
			}
			if _, got := s.Rules[0].match(v); got != c.want {
				t.Errorf("match is %v for %+v", got, v)
			}
		})
	}
}

func TestSubmatches(t *testing.T) {
	s, err := Load([]byte(`{rules: [{when: 'write (\w+) to (\w+)', say: '{{1}}, {{0}}', call: [{name: f, args: {a: ['{{2}}', 7, {b: '{{1}}'}]}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := &s.Rules[0]
	groups, ok := r.match(view{user: "please write tests to disk"})
	if !ok || r.text(groups) != "tests, write tests to disk" {
		t.Errorf("says %q, matched %v", r.text(groups), ok)
	}
	want := map[string]any{"a": []any{"disk", 7, map[string]any{"b": "tests"}}}
	if diff := cmp.Diff(want, r.calls(groups)[0].FunctionCall.Args); diff != "" {
		t.Error(diff)
	}
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
	}{{"", 3}, {"abc", 0}, {"abcdefg", 3}, {"🎉🎉🎉", 5}, {"ab", 9}} {
		got := pieces(c.text, c.n)
		if strings.Join(got, "") != c.text || len(got) > max(c.n, 1) {
			t.Errorf("pieces(%q, %d) = %q", c.text, c.n, got)
		}
		for _, p := range got {
			if strings.ToValidUTF8(p, "?") != p {
				t.Errorf("pieces(%q, %d) cuts a character: %q", c.text, c.n, got)
			}
		}
	}
}

func TestFit(t *testing.T) {
	schema := `{"type":"OBJECT","required":["who","loop","score","list"],"properties":{
		"who":{"type":"STRING","enum":["user","model"]},"loop":{"type":"boolean"},"score":{"type":"number"},
		"list":{"type":"array"},"more":{"type":"string"}}}`
	want := map[string]any{"who": "user", "loop": false, "score": 0, "list": []any{}}
	if diff := cmp.Diff(want, fit(json.RawMessage(schema))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(any(map[string]any{}), fit(nil)); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{first, afterTools, second, question, digest} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := parse(body)
		if err != nil {
			return
		}
		if v.tool != "" && !strings.HasSuffix(v.all, v.tool) {
			t.Errorf("the newest responses %q do not end the request %q", v.tool, v.all)
		}
		if _, err := json.Marshal(fit(v.schema)); err != nil {
			t.Errorf("fit(%s): %v", v.schema, err)
		}
	})
}
