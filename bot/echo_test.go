package bot

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// answers ends the task of an event with a result.
func (d *deciding) answers(ev, result string) {
	d.t.Helper()
	rec, err := d.bot.Journal.Tasks.Of(d.t.Context(), d.id, ev)
	if err != nil {
		d.t.Fatal(err)
	}
	rec.Result, rec.Ended, rec.Updated, rec.Run, rec.Container = result, "completed", time.Now(), "r", "c"
	if err := d.bot.Journal.Tasks.Claim(d.t.Context(), rec); err != nil {
		d.t.Fatal(err)
	}
	if err := d.bot.Journal.Tasks.Answer(d.t.Context(), rec, nil); err != nil {
		d.t.Fatal(err)
	}
	if err := d.bot.Journal.Tasks.Finish(d.t.Context(), rec.Key); err != nil {
		d.t.Fatal(err)
	}
}

// A bot that repeats every answer gets a few answers, and one sentence. Whoever says something else is heard at once.
func TestEchoBot(t *testing.T) {
	d := newDeciding(t, everything)
	said := "hello there, what can you do?"
	tasks := 0
	for i := range 20 {
		ev := fmt.Sprintf("$%d", i)
		d.text(ev, "@echo:here", said, 2*time.Second)
		d.decides()
		if _, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, ev); err == nil {
			tasks++
			answer := fmt.Sprintf("I can do **%d** things: `ls`, tests, and more.", i)
			d.answers(ev, answer)
			said = "echo: " + strings.NewReplacer("*", "", "`", "").Replace(answer)
		} else if i > 10 {
			out, _ := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
			said = "echo: " + out[0].Body
		}
	}
	out, err := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	if told := len(out); tasks != 3 || told != 1 {
		t.Errorf("an echo bot got %d answers, and the room %d sentences", tasks, told)
	}
	d.text("$echo", "@echo:here", "now do something else, please", time.Second)
	d.text("$ann", "@ann:here", "echo: I can do 2 things: ls, tests, and more.", time.Second)
	d.decides()
	if line := d.line(); len(line) != 2 {
		t.Errorf("after the pause, the queue has %q", line)
	}
}

// Fast people are no bot, nor are programs that ask for little or mention it, also if they use the last answer.
func TestFastIsNoEcho(t *testing.T) {
	for name, say := range map[string]func(i int, last string) string{
		"a script":   func(i int, _ string) string { return fmt.Sprintf("what is %d + %d?", i, i) },
		"arithmetic": func(_ int, last string) string { return last + " + " + last },
		"a translator": func(i int, last string) string {
			return fmt.Sprintf("matrix-tui: translate this into language %d, and keep the tone, please: %s", i, last)
		},
		"the same task": func(int, string) string { return "run the tests" },
		"yes":           func(int, string) string { return "yes" },
	} {
		d := newDeciding(t, everything)
		last := "1"
		for i := range 20 {
			ev := fmt.Sprintf("$%d", i)
			d.text(ev, "@ann:here", say(i, last), 2*time.Second)
			d.decides()
			if _, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, ev); err != nil {
				t.Fatalf("%s: message %d is no task (%v)", name, i, err)
			}
			last = map[bool]string{true: "All 12 tests pass.", false: fmt.Sprint(1 << min(i, 62))}[name == "a translator"]
			d.answers(ev, last)
		}
	}
}

// A bot with words of its own that answers every answer at once gets a few, and one sentence. A mention is heard.
func TestTirelessBot(t *testing.T) {
	d := newDeciding(t, everything)
	tasks := 0
	for i := range 20 {
		ev := fmt.Sprintf("$%d", i)
		d.text(ev, "@chatty:here", fmt.Sprintf("What a fine thought! Let me add number %d to it, dear colleague.", i), 2*time.Second)
		d.decides()
		if _, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, ev); err == nil {
			tasks++
			d.answers(ev, fmt.Sprintf("That is thought %d.", i))
		}
	}
	if out, err := d.bot.Journal.Messages.Unsent(t.Context(), d.id); tasks != 10 || len(out) != 1 || err != nil {
		t.Errorf("it got %d answers, and the room %d sentences (%v)", tasks, len(out), err)
	}
	d.text("$short", "@chatty:here", "go on", time.Second)
	d.text("$mention", "@chatty:here", "matrix-tui: please go on with the thoughts that we had before", 3*time.Second)
	d.decides()
	if line := d.line(); len(line) != 2 {
		t.Errorf("after the pause, the queue has %q", line)
	}
}
