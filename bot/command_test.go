package bot

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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

// Only letters directly after the ! look like a command.
func TestNoCommand(t *testing.T) {
	for text, want := range map[string]string{
		"!deploy": "deploy", "!deploy the site": "deploy", " !self-destruct now": "self-destruct", "!важно": "важно",
		"!stop": "", "!stpo": "", "!!!": "", "! important": "", "!important: read this": "", "!": "", "!1": "", "really !deploy": "", "": "", "!=": "",
	} {
		if got := noCommand(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Where every message is a task, an unknown command is none: the sender is told so. Elsewhere it is for another bot, even
// while a question is open.
func TestUnknownCommand(t *testing.T) {
	for body, task := range map[string]bool{"!deploy the site": false, "!task !deploy the site": true, "!important: deploy": true, "!!!": true} {
		d := newDeciding(t, "")
		d.bot.members.Learn(d.id, d.bot.members.Version(), 2)
		d.text("$1", "@ann:here", body, 0)
		d.decides()
		out, _ := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
		told := len(out) > 0 && strings.Contains(out[0].Body, "is not one of my commands")
		if line := d.line(); told == task || len(line) > 0 != task {
			t.Errorf("%q: tasks %q, told: %v", body, line, told)
		}
	}
	d := newDeciding(t, grouped)
	d.bot.members.Learn(d.id, d.bot.members.Version(), 3)
	d.text("$0", "@ann:here", "@bot:here deploy it", 0)
	d.decides()
	d.asksIn("$0", "Which?", "")
	d.text("$1", "@ann:here", "!weather", time.Minute)
	d.decides()
	out, _ := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
	if len(out) > 0 {
		t.Errorf("answered with %s", out[0].Body)
	}
}

// What follows a command that takes nothing, or only certain words, is not dropped silently.
func TestNoArgument(t *testing.T) {
	for body, want := range map[string]string{
		"!help\nand fix the site": "!help [all|owner] lists", "!help me with my homework": "!help [all|owner] lists",
		"!help": "!help all lists", "!help ALL": "• !steer", "!help owners": "• !reset",
		"!status foo": "!status takes no argument", "!new york weather": "!new takes no argument", "!stop the server": "!stop [all] cancels",
	} {
		d := newDeciding(t, everything)
		d.text("$1", "@ann:here", body, 0)
		d.decides()
		if got := d.said("$1"); !strings.Contains(got, want) {
			t.Errorf("%q: %q", body, got)
		}
	}
	for body, want := range map[string]bool{"!rooms all": true, "!rooms now": false, "!reset Sandbox": true, "!reset all of it": false, "!reset sandboxs": false, "!model my-model": true, "!compact the port": true, "!memory": true, "!alerts": false, "!task": false} {
		if c, rest, ok := parseCommand(body); !ok || c.takes(rest) != want {
			t.Errorf("%q: %v, want %v", body, !want, want)
		}
	}
}

// The help fits on the screen of a phone: five commands, a line each.
func TestHelpFits(t *testing.T) {
	lines := strings.Split(helpList(""), "\n")
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 40 {
			t.Errorf("%q is too long", line)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d commands", len(lines))
	}
	all, owner := helpList("all"), helpList("owner")
	if n := strings.Count(all+"\n"+owner, "\n- `!") + 1; n != len(commands) || strings.Contains(all, "!policy") || strings.Contains(owner, "!stop") {
		t.Errorf("%d of %d commands:\n%s\n%s", n, len(commands), all, owner)
	}
}
