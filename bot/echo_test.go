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
	rec, err := d.bot.Journal.TaskOf(d.t.Context(), d.id, ev)
	if err != nil {
		d.t.Fatal(err)
	}
	rec.Result, rec.Ended, rec.Updated, rec.Run, rec.Container = result, "completed", time.Now(), "r", "c"
	if err := d.bot.Journal.Claim(d.t.Context(), rec); err != nil {
		d.t.Fatal(err)
	}
	if err := d.bot.Journal.Answer(d.t.Context(), rec, nil); err != nil {
		d.t.Fatal(err)
	}
	if err := d.bot.Journal.FinishTask(d.t.Context(), rec.Key); err != nil {
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
		if _, err := d.bot.Journal.TaskOf(t.Context(), d.id, ev); err == nil {
			tasks++
			answer := fmt.Sprintf("I can do **%d** things: `ls`, tests, and more.", i)
			d.answers(ev, answer)
			said = "echo: " + strings.NewReplacer("*", "", "`", "").Replace(answer)
		} else if i > 10 {
			said = "echo: " + strings.ReplaceAll(echoText, "`", "")
		}
	}
	out, err := d.bot.Journal.Unsent(t.Context(), d.id)
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

// Fast people and programs are no echo, also if they use the last answer.
func TestFastIsNoEcho(t *testing.T) {
	for name, say := range map[string]func(i int, last string) string{
		"a script":   func(i int, _ string) string { return fmt.Sprintf("what is %d + %d?", i, i) },
		"arithmetic": func(_ int, last string) string { return last + " + " + last },
		"a translator": func(i int, last string) string {
			return fmt.Sprintf("translate this into language %d, and keep the tone, please: %s", i, last)
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
			if _, err := d.bot.Journal.TaskOf(t.Context(), d.id, ev); err != nil {
				t.Fatalf("%s: message %d is no task (%v)", name, i, err)
			}
			last = map[bool]string{true: "All 12 tests pass.", false: fmt.Sprint(1 << min(i, 62))}[name == "a translator"]
			d.answers(ev, last)
		}
	}
}
