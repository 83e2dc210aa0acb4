package policy

import (
	"os"
	"strings"
	"testing"

	"matrix-tui/state/sentence"
)

func TestInherit(t *testing.T) {
	const own = "# by hand\ndefaults: {allow: ['@a:x']}\nrooms:\n  \"!old:x\": # the lab\n    allow: ['@b:x']\n    limits: {timeout_seconds: 60} # short\n"
	for _, c := range []struct {
		name, before, added, wrong string
	}{
		{"no file", "", "", ""},
		{"nothing said", "defaults: {allow: ['@a:x']}\n", "", ""},
		{"an empty entry", "rooms: {'!old:x': {}}\n", "", ""},
		{"another room", "rooms: {'!other:x': {reply: off}}\n", "", ""},
		{"its own entry", own, "  \"!new:x\":\n    allow:\n      - \"@b:x\"\n    limits:\n      timeout_seconds: 60\n", ""},
		{"the successor has one", own + "  \"!new:x\": {reply: all}\n", "", ""},
		{"invalid", own + "  nonsense\n", "", "policy.yaml is invalid"},
		{"anchors", "rooms:\n  \"!old:x\": &a {reply: all}\n  \"!b:x\": *a\n", "", "anchors"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, path := folder(t, c.before)
			could := s.CanInherit("!old:x", "!new:x")
			inherited, err := s.Inherit("!old:x", "!new:x")
			said, _ := sentence.Of(err)
			if inherited != (c.added != "") || (could != nil) != (err != nil) || !strings.Contains(said, c.wrong) || (err != nil) != (c.wrong != "") {
				t.Errorf("inherited %v, could %v, error %v", inherited, could, err)
			}
			after, _ := os.ReadFile(path)
			if want := c.before + c.added; string(after) != want {
				t.Errorf("the file is\n%s\nwant\n%s", after, want)
			}
			if again, err := s.Inherit("!old:x", "!new:x"); again || (err != nil) != (c.wrong != "") {
				t.Errorf("again: %v, %v", again, err)
			}
			if c.added != "" {
				if d := s.Decide(Query{Room: "!new:x", Sender: "@b:x", Mentioned: true}); !d.Heard {
					t.Errorf("in the new room: %+v", d)
				}
				if d := s.Decide(Query{Room: "!new:x", Sender: "@a:x", Mentioned: true}); d.Heard {
					t.Errorf("in the new room: %+v", d)
				}
			}
		})
	}
}
