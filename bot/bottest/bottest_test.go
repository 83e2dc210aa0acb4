package bottest

import (
	"encoding/json"
	"regexp/syntax"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestVerbs plays scripts without a bot: people, files, hosts.
func TestVerbs(t *testing.T) { Run(t, "testdata") }

func TestRename(t *testing.T) {
	in := "# kill it\nkill\nstop\nstopwatch\n  kill\n-- kill.txt --\nkill\n"
	want := "# kill it\nbot-kill\nbot-stop\nstopwatch\n  kill\n-- kill.txt --\nkill\n"
	if diff := cmp.Diff(want, rename(in)); diff != "" {
		t.Error(diff)
	}
}

func TestShorten(t *testing.T) {
	in := "start\n# unencrypted only from here\nstop\n-- file --\n# unencrypted only from here\n"
	if diff := cmp.Diff("start\n-- file --\n# unencrypted only from here\n", shorten(in)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("start\n-- file --\nx\n", shorten("start\n-- file --\nx\n")); diff != "" {
		t.Error(diff)
	}
}

func TestSkip(t *testing.T) {
	in := "# a script\n# only on Synapse: it's odd\nstart\n-- file --\n# only on Synapse: x\n"
	if diff := cmp.Diff("# a script\nskip 'it''s odd'\nstart\n-- file --\n# only on Synapse: x\n", skip(in, onlyMark, "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(in, skip(in, synapseMark, "no Synapse")); diff != "" {
		t.Error(diff)
	}
}

func TestCostOf(t *testing.T) {
	in := "# two\ndeadline 90s\nstart\ndeadline 2m\ndeadline soon\n-- file --\ndeadline 5m\n"
	if got, want := costOf(in), (cost{2 * time.Minute, 5}); got != want {
		t.Errorf("costOf = %v, want %v", got, want)
	}
}

func TestWalk(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(`{"containers":{"!a.b:c":"box"},"history":{"!a.b:c":[{"content":"x"},{"content":"y"}]}}`), &v); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"den": "!a.b:c"}
	for path, want := range map[string]any{
		".containers[den]":          "box",
		".history[den][0].content":  "x",
		".history[den][-1].content": "y",
		".history[den][7].content":  nil,
		".containers[attic]":        nil,
		".nothing.at.all":           nil,
	} {
		got, err := walk(v, path, names)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	for _, path := range []string{"containers", ".history[den][x]", ".a..b"} {
		if got, err := walk(v, path, names); err == nil {
			t.Errorf("%s gave %v", path, got)
		}
	}
}

func TestVerbTable(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range verbs {
		if seen[v.name] {
			t.Errorf("%s is there twice", v.name)
		}
		seen[v.name] = true
		if v.max >= 0 && v.max < v.min {
			t.Errorf("%s takes %d to %d arguments", v.name, v.min, v.max)
		}
	}
	for from, to := range renamed {
		if !seen[to] {
			t.Errorf("%s is renamed to %s, which is no verb", from, to)
		}
	}
}

func TestWords(t *testing.T) {
	for pattern, want := range map[string][]string{
		`moth`:                            {"moth"},
		`[^a-z]moth[^a-z]`:                {"moth"},
		`list\.txt|counted [a-z]+`:        {"list.txt", "counted "},
		`(late|early|second) owl`:         {"late", "early", "second"},
		`Working on it|[0-9]+`:            nil,
		`(?i)moth`:                        nil,
		`(moth)?`:                         nil,
		`(moth)* (owl)+`:                  {" "},
		`moth{0,3}`:                       {"mot"},
		`Hello! Write me|A task runs for`: {"Hello! Write me", "A task runs for"},
		``:                                nil,
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, words(tree)); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
}

func TestLinks(t *testing.T) {
	for text, want := range map[string][]string{
		"none here, https://example.org/#/!a:b/$c":                                            nil,
		"see https://matrix.to/#/!a:b/$c.":                                                    {"!a:b/$c"},
		"[it](https://matrix.to/#/%21a%3Ab/%24c_d-e?via=b) and <https://matrix.to/#/!x:y/$z>": {"!a:b/$c_d-e", "!x:y/$z"},
	} {
		if diff := cmp.Diff(want, links(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestPinged(t *testing.T) {
	for raw, want := range map[string][]string{
		`{"body":"@bob:x","m.mentions":{}}`:                                        nil,
		`{"m.mentions":{"user_ids":["@alice:x"],"room":true}}`:                     {"@alice:x", "@room"},
		`{"m.mentions":{},"m.new_content":{"m.mentions":{"user_ids":["@bob:x"]}}}`: {"@bob:x"},
	} {
		got, err := pinged([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
	for _, raw := range []string{`{"body":"@bob:x"}`, `{"m.mentions":{},"m.new_content":{"body":"@bob:x"}}`, `[]`} {
		if got, err := pinged([]byte(raw)); err == nil {
			t.Errorf("%s pings %v", raw, got)
		}
	}
}

func TestTurns(t *testing.T) {
	for which, want := range map[string][]int{
		"": {1, 2, 3, 4, 5}, "/2": {1, 3, 5}, "2-/2": {2, 4}, "4": {4}, "2-3": {2, 3}, "-2": {1, 2}, "9-12": nil,
	} {
		got, err := turns(which, 5)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", which, err, diff)
		}
	}
	for _, which := range []string{"x", "1-y", "/0", "0-"} {
		if _, err := turns(which, 5); err == nil {
			t.Errorf("%q was accepted", which)
		}
	}
}

// The first version of a notice may show some of the answer: it is no second answer.
func TestWithoutDraft(t *testing.T) {
	for body, want := range map[string]string{
		"⏳ Working on it · 3 s\n\n> got 6":                    "⏳ Working on it · 3 s",
		"⏳ Working on it · 3 s · step 1\n💻 step 1: ls\n\n> a": "⏳ Working on it · 3 s · step 1\n💻 step 1: ls",
		"got 6\n\n> quoted":                                   "got 6\n\n> quoted",
	} {
		if got := withoutDraft(body); got != want {
			t.Errorf("%q is %q, want %q", body, got, want)
		}
	}
}
