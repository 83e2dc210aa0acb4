package agenttest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLoad(t *testing.T) {
	s, err := Load([]byte(`
rules:
  - when: 'write (\w+)'
    times: 2
    delay: 1.5s
    say: 'writing {{1}}'
    call: [{name: write_file, args: {file_path: "/workspace/{{1}}.py", content: x}}]
  - {tool: '^write_file', say: done}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Rules[0]
	if r.When.String() != `write (\w+)` || r.Times != 2 || r.Delay != 1500*time.Millisecond {
		t.Errorf("first rule read as %+v", r)
	}
	want := []Call{{Name: "write_file", Args: map[string]any{"file_path": "/workspace/{{1}}.py", "content": "x"}}}
	if diff := cmp.Diff(want, r.Call); diff != "" {
		t.Error(diff)
	}
	if s.Default == nil || s.Default.Say != "scripted answer" {
		t.Errorf("default is %+v", s.Default)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"empty":           {"", "empty"},
		"unknown key":     {"rules: [{wen: x, say: y}]", "wen"},
		"bad pattern":     {"rules:\n- when: '('\n  say: y", "line 2"},
		"bad duration":    {"rules: [{delay: soon, say: y}]", "soon"},
		"no answer":       {"rules: [{say: a}, {when: x}]", "rule 2: no answer"},
		"no submatch":     {"rules: [{when: 'a(b)', say: '{{2}}'}]", "{{2}}"},
		"submatch in arg": {"rules: [{say: x, call: [{name: f, args: {a: '{{0}}'}}]}]", "{{0}}"},
		"status 200":      {"rules: [{status: 200}]", "not an HTTP error"},
		"body alone":      {"rules: [{say: x, body: y}]", "needs status"},
		"status and say":  {"rules: [{status: 500, say: y}]", "exclude each other"},
		"empty and say":   {"rules: [{empty: true, say: y}]", "exclude each other"},
		"nameless call":   {"rules: [{call: [{args: {}}]}]", "without a name"},
		"not for JSON":    {"rules: [{call: [{name: f, args: {a: .nan}}]}]", "args of f"},
		"too much":        {"rules: [{say_repeat: {text: x, bytes: 99999999999}}]", "say_repeat"},
		"negative":        {"rules: [{say: x, hang: -1s}]", "negative"},
		"default matches": {"default: {when: x, say: y}", "default"},
		"finish":          {"rules: [{say: x, finish: TIRED}]", "not a reason of the API"},
		"block":           {"rules: [{block: MOOD}]", "not a reason of the API"},
		"refuse":          {"rules: [{refuse: me}]", "closed, day, key"},
		"model refuses":   {"models: [{name: a, refuses: me}]", "closed, day, key"},
		"model twice":     {"models: [{name: a}, {name: a}]", "name of its own"},
		"refuse and say":  {"rules: [{refuse: day, say: x}]", "exclude each other"},
		"two documents":   {"rules: [{say: a}]\n---\nrules: []", "more than one"},
		"too long":        {strings.Repeat("#", maxScript+1), "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load([]byte(c.script))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one that contains %q", err, c.want)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("rules:\n- when: 'a(b)'\n  say: '{{1}}'\n  call: [{name: f, args: {x: [1, {y: '{{0}}'}]}}]\n"))
	f.Add([]byte("rules: [{status: 429, retry_after: 1s, body: '{}'}]\ndefault: {empty: true}"))
	f.Add(demo)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Load(data)
		if err != nil {
			return
		}
		v := view{user: "ab", tool: "f {}"}
		for _, r := range append(s.Rules, *s.Default) {
			if r.SayRepeat != nil && r.SayRepeat.Bytes > 1<<16 {
				continue
			}
			groups, _ := r.match(v)
			out := r.replies(groups, "m", "id", 1)
			if len(out) == 0 || out[len(out)-1].UsageMetadata.TotalTokenCount == 0 {
				t.Errorf("rule %+v makes %+v", r, out)
			}
		}
	})
}
