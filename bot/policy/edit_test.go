package policy

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/sentence"
)

const byHand = `# Ours.

defaults: # everywhere
  # who
  allow:
    - "@a:x" # alice
    # the second
    - '@b:x'
  reply: mention_only # quiet
rooms:
  # The den.
  "!den:x": # cosy
    reply: all
    limits: {timeout_seconds: 60} # short
  '!attic:x': {reply: off} # dusty
# The end.
`

// An edit changes only what it must: comments, order and style are kept.
func TestSetKeepsTheRest(t *testing.T) {
	for _, c := range []struct {
		where, key, value string
		old, new          string // the lines that change
	}{
		{"defaults", "reply", "all", "reply: mention_only #", "reply: all #"},
		{"defaults", "allow", "@a:x @b:x,@*:c.org", "    - '@b:x'\n", "    - '@b:x'\n    - \"@*:c.org\"\n"},
		{"defaults", "allow", "@b:x", "    - \"@a:x\" # alice\n", ""},
		{"defaults", "allow", "none", "allow:\n    - \"@a:x\" # alice\n    # the second\n    - '@b:x'\n", "allow: []\n"},
		{"defaults", "model", "gemini-3", "# quiet\n", "# quiet\n  model: gemini-3\n"},
		{"defaults", "approvals", "git push, rm -rf", "# quiet\n", "# quiet\n  approvals:\n    - git push\n    - rm -rf\n"},
		{"!den:x", "reply", "default", "    reply: all\n", ""},
		{"!den:x", "timeout_seconds", "90", "timeout_seconds: 60", "timeout_seconds: 90"},
		{"!den:x", "timeout_seconds", "default", "    limits: {timeout_seconds: 60} # short\n", ""},
		{"!den:x", "question_minutes", "5", "60}", "60, question_minutes: 5}"},
		{"!den:x", "persona", "p/pirate.md", "# short\n", "# short\n    persona: p/pirate.md\n"},
		{"!den:x", "persona", "none", "# short\n", "# short\n    persona: \"\"\n"},
		{"!attic:x", "block", "@b:x", "{reply: off}", "{reply: off, block: [\"@b:x\"]}"},
		{"!attic:x", "reply", "default", "  '!attic:x': {reply: off} # dusty\n", ""}, // an empty section
		{"!new:x", "reply", "off", "# dusty\n", "# dusty\n  \"!new:x\":\n    reply: \"off\"\n"},
	} {
		got, err := edit([]byte(byHand), c.where, func(_ *Policy, s section) error { return s.set(c.key, c.value) })
		if err != nil {
			t.Errorf("%s %s %s: %v", c.where, c.key, c.value, err)
			continue
		}
		if !strings.Contains(byHand, c.old) {
			t.Fatalf("%q is not there", c.old)
		}
		if diff := cmp.Diff(strings.Replace(byHand, c.old, c.new, 1), string(got)); diff != "" {
			t.Errorf("%s %s %s: %s", c.where, c.key, c.value, diff)
		}
	}
}

// Whatever the file contains, the result has the requested setting.
func TestSetInSmallFiles(t *testing.T) {
	for _, c := range []struct{ file, where, want string }{
		{"", "defaults", "defaults:\n  reply: \"off\"\n"},
		{"", "!r:x", "rooms:\n  \"!r:x\":\n    reply: \"off\"\n"},
		{"# only\n# comments", "defaults", "# only\n# comments\n\ndefaults:\n  reply: \"off\"\n"},
		{"---\n# nothing\n", "defaults", "---\n# nothing\n\ndefaults:\n  reply: \"off\"\n"},
		{"rooms:\n  '!r:x': # cosy\n  '!s:x': {}", "!r:x", "rooms:\n  '!r:x': # cosy\n    reply: \"off\"\n  '!s:x': {}\n"},
		{"{}", "defaults", "defaults:\n  reply: \"off\"\n"},
		{"defaults:\nrooms:\n", "!r:x", "defaults:\nrooms:\n  \"!r:x\":\n    reply: \"off\"\n"},
		{"rooms: {'!r:x': {}}", "!r:x", "rooms: {'!r:x': {reply: \"off\"}}\n"},
		{"rooms:\n    '!r:x':\n", "!r:x", "rooms:\n    '!r:x':\n      reply: \"off\"\n"},
		{"defaults: {reply: \"all\"}\n", "defaults", "defaults: {reply: \"off\"}\n"},
	} {
		got, err := edit([]byte(c.file), c.where, func(_ *Policy, s section) error { return s.set("reply", "off") })
		if err != nil {
			t.Errorf("%q: %v", c.file, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%q: %s", c.file, diff)
		}
		again, err := edit(got, c.where, func(_ *Policy, s section) error { return s.set("reply", "off") })
		if err != nil || again != nil {
			t.Errorf("%q: a second time it is %q, %v", c.file, again, err)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct{ file, where, key, value, want string }{
		{"", "den", "reply", "all", `"den" is not a room ID: use one like !abc:example.org`},
		{"", "#den:x", "reply", "all", "is not a room ID"},
		{"", "!den:x y", "reply", "all", "is not a room ID"},
		{"", "defaults", "reply", "loud", `That is not valid: defaults: reply: "loud" is not one of all, mention_only, owner_only, off.`},
		{"", "defaults", "reply", "none", "is not one of all"},
		{"", "defaults", "reply", "", "What should reply be?"},
		{"", "!r:x", "allow", "alice", `rooms: !r:x: allow: "alice" is not a full user ID`},
		{"", "!r:x", "allow", "@a*:x", "is not a full user ID"},
		{"", "!r:x", "block", "@*:*.org", "is not a full user ID"},
		{"", "!r:x", "persona", "../secret.md", "is not a text file"},
		{"", "!r:x", "persona", "state.json", "is not a text file"},
		{"", "!r:x", "model", "a b", "is not a model name"},
		{"", "!r:x", "timeout_seconds", "soon", `"soon" is not a whole number`},
		{"", "!r:x", "timeout_seconds", "0", "0 is not a whole number from 1 to 2592000"},
		{"", "!r:x", "question_minutes", "99999", "from 1 to 43200"},
		{"", "!r:x", "approvals", strings.Repeat("x", MaxPrefix+1), "is not the beginning of a command"},
		{"defaults: [", "defaults", "reply", "all", "Fix it by hand first."},
		{"defaults: &d {reply: all}\nrooms: {'!a:x': *d}", "!a:x", "reply", "off", "anchors"},
		{"defaults: {<<: {reply: all}}", "defaults", "model", "x", "anchors"},
		{"defaults: {reply: all, # why\n\n\n}\n", "defaults", "reply", "off", "A comment in policy.yaml would be lost (`# why`)"},
		{"defaults: {allow: [ # nobody\n]}\n", "defaults", "reply", "off", "edit it by hand"},
	} {
		got, err := edit([]byte(c.file), c.where, func(_ *Policy, s section) error { return s.set(c.key, c.value) })
		if c.want == "" {
			if err != nil {
				t.Errorf("%q: %v", c.file, err)
			}
			continue
		}
		if err == nil || got != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %s %s %s: %q, %v; want %q", c.file, c.where, c.key, c.value, got, err, c.want)
		} else if _, ok := sentence.Of(err); !ok {
			t.Errorf("%v has no sentence", err)
		}
	}
}

func TestReset(t *testing.T) {
	for where, gone := range map[string]string{
		"!den:x":   "  # The den.\n  \"!den:x\": # cosy\n    reply: all\n    limits: {timeout_seconds: 60} # short\n",
		"!attic:x": "  '!attic:x': {reply: off} # dusty\n",
	} {
		got, err := edit([]byte(byHand), where, func(_ *Policy, s section) error { clear(s); return nil })
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if diff := cmp.Diff(strings.Replace(byHand, gone, "", 1), string(got)); diff != "" {
			t.Errorf("%s: %s", where, diff)
		}
	}
	if got, err := edit([]byte(byHand), "!other:x", func(*Policy, section) error { return nil }); got != nil || err != nil {
		t.Errorf("a room without settings: %q, %v", got, err)
	}
	got, err := edit([]byte(byHand), "defaults", func(_ *Policy, s section) error { clear(s); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Parse(got); err != nil || len(p.said["defaults"]) != 0 || len(p.said) != 3 {
		t.Errorf("%+v, %v\n%s", p, err, got)
	}
}

// Whatever the file contains, an edit changes nothing else, and its result is valid.
func FuzzEdit(f *testing.F) {
	for _, file := range []string{byHand, "", "# c", "null", "rooms: {'!r:x': {}}", "defaults: {allow: [ # x\n]}", "? defaults\n: {reply: all}\n", "%YAML 1.1\n---\ndefaults: {reply: |-\n  all}", "\ufeffdefaults: {}\r\n"} {
		f.Add([]byte(file), "!r:x", "allow", "@a:x, @*:y")
		f.Add([]byte(file), "defaults", "timeout_seconds", "7")
		f.Add([]byte(file), "!den:x", "reply", "default")
	}
	f.Fuzz(func(t *testing.T, data []byte, where, key, value string) {
		got, err := edit(data, where, func(_ *Policy, s section) error { return s.set(key, value) })
		if err != nil || got == nil {
			return
		}
		before, err := Parse(data)
		if err != nil {
			t.Fatalf("an invalid file was changed: %v", err)
		}
		after, err := Parse(got)
		if err != nil {
			t.Fatalf("%q became %q: %v", data, got, err)
		}
		for room := range before.rooms {
			if room != where && where != defaultsKey && before.Show(room) != after.Show(room) {
				t.Errorf("%q: %s is another: %q", data, room, got)
			}
		}
		for _, c := range lexer.Tokenize(string(data)) {
			comment := strings.TrimSpace(c.Value)
			if c.Type == token.CommentType && !strings.Contains(string(got), comment) && value != valueDefault && value != valueNone && !strings.Contains(key, "l") {
				t.Errorf("%q: %q is gone: %q", data, c.Value, got)
			}
		}
	})
}
