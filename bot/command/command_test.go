package command

import (
	"strings"
	"testing"
	"unicode/utf8"

	"matrix-tui/bot/update"
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
		got, rest, ok := Parse(c.text)
		if got.Name != c.name || rest != c.rest || ok != (c.name != "") {
			t.Errorf("%q is %q with %q (%v); want %q with %q", c.text, got.Name, rest, ok, c.name, c.rest)
		}
	}
}

// Every command can explain its syntax.
func TestUsage(t *testing.T) {
	for _, c := range all {
		if c.Does == "" || len(c.Usage()) < 20 {
			t.Errorf("!%s: usage %q", c.Name, c.Usage())
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

// Only letters directly after the ! look like a command.
func TestNoCommand(t *testing.T) {
	for text, want := range map[string]string{
		"!deploy": "deploy", "!deploy the site": "deploy", " !self-destruct now": "self-destruct", "!важно": "важно",
		"!stop": "", "!stpo": "", "!!!": "", "! important": "", "!important: read this": "", "!": "", "!1": "", "really !deploy": "", "": "", "!=": "",
	} {
		if got := foreign(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The help fits on the screen of a phone: five commands, a line each.
func TestHelpFits(t *testing.T) {
	lines := strings.Split(list(""), "\n")
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 40 {
			t.Errorf("%q is too long", line)
		}
	}
	if len(lines) != 6 {
		t.Errorf("%d commands", len(lines))
	}
	everyone, owner := list("all"), list("owner")
	if n := strings.Count(everyone+"\n"+owner, "\n- `!") + 1; n != len(all) || strings.Contains(everyone, "!policy") || strings.Contains(owner, "!stop") {
		t.Errorf("%d of %d commands:\n%s\n%s", n, len(all), everyone, owner)
	}
}

// Other spaces than ASCII after a command.
func TestCommandSpaces(t *testing.T) {
	for _, text := range []string{"!task\u00a0write a poem", "!answer\u00a0yes", "\u200b!stop", "!stop\u3000", "!stop\uFE0F"} {
		if _, _, ok := Parse(text); !ok {
			t.Errorf("%q is no command", text)
		}
	}
}

// Every command has a valid description for clients.
func TestDescriptions(t *testing.T) {
	for _, c := range all {
		if err := c.description().Validate(); err != nil {
			t.Errorf("!%s: %v", c.Name, err)
		}
	}
}

// What follows a command that takes nothing, or only certain words, is not dropped silently.
func TestTakes(t *testing.T) {
	for body, want := range map[string]bool{"!rooms all": true, "!rooms now": false, "!reset Sandbox": true, "!reset all of it": false, "!reset sandboxs": false, "!model my-model": true, "!compact the port": true, "!memory": true, "!alerts": false, "!task": false} {
		if c, rest, ok := Parse(body); !ok || c.Takes(rest) != want {
			t.Errorf("%q: %v, want %v", body, !want, want)
		}
	}
}

// Who cannot update itself says how it is updated.
func TestNoUpdates(t *testing.T) {
	for _, c := range []struct{ says, want string }{{"", update.NotInstalled}, {update.InPod, update.InPod}} {
		if got, err := selfUpdate(t.Context(), &Call{Deps: &Deps{NoUpdates: c.says}}); got != c.want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
}
