package bot

import (
	"strings"
	"testing"
	"time"
)

// Where every message is a task, an unknown command is none: the sender is told so. Elsewhere it is for another bot, even
// while a question is open.
func TestUnknownCommand(t *testing.T) {
	for body, task := range map[string]bool{"!deploy the site": false, "!task !deploy the site": true, "!important: deploy": true, "!!!": true} {
		d := newDeciding(t, "")
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 2)
		d.text("$1", "@ann:here", body, 0)
		d.decides()
		out, _ := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
		told := len(out) > 0 && strings.Contains(out[0].Body, "is not one of my commands")
		if line := d.line(); told == task || len(line) > 0 != task {
			t.Errorf("%q: tasks %q, told: %v", body, line, told)
		}
	}
	d := newDeciding(t, grouped)
	d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 3)
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
}
