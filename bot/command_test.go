package bot

import (
	"testing"
)

func TestParseCommand(t *testing.T) {
	for _, c := range []struct {
		text, name, rest string
	}{
		{"!stop", "stop", ""},
		{"  !STOP \n", "stop", ""},
		{"!stop the server", "stop", "the server"},
		{"!task write\na poem", "task", "write\na poem"},
		{"!answer\tproduction", "answer", "production"},
		{"!answer", "answer", ""},
		{"!stopping", "", ""},
		{"! stop", "", ""},
		{"please !stop", "", ""},
		{"!", "", ""},
		{"stop", "", ""},
	} {
		got, rest, ok := parseCommand(c.text)
		if got.name != c.name || rest != c.rest || ok != (c.name != "") {
			t.Errorf("%q is %q with %q (%v); want %q with %q", c.text, got.name, rest, ok, c.name, c.rest)
		}
	}
}

// Every command can explain its syntax.
func TestUsage(t *testing.T) {
	for _, c := range commands {
		if c.does == "" || len(c.usage()) < 20 {
			t.Errorf("!%s: usage %q", c.name, c.usage())
		}
	}
}

func TestMisspelt(t *testing.T) {
	for text, want := range map[string]string{
		"!hlep": "help", "!Stpo": "stop", "!answr production": "answer", "!polic": "policy", "!status": "", "!task": "",
		"!important": "", "!": "", "stpo": "", "!go": "", "!!": "", "!stopp the server": "stop",
	} {
		if got := misspelt(text); got != want {
			t.Errorf("%q means %q, want %q", text, got, want)
		}
	}
}
