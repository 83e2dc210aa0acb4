package bot

import "testing"

// While the agent's notes are moved, no task starts. While a task runs, they are not moved: also if its run has outlived
// the bot, and the worker has not taken it up yet.
func TestHold(t *testing.T) {
	d := newDeciding(t, everything)
	held := func() (release func()) {
		t.Helper()
		release, err := d.turn.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	starts := func() bool {
		t.Helper()
		do, err := d.nextTask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return do != nil
	}
	release := held()
	d.text("$1", "@ann:here", "paint the shed", 0)
	d.decides()
	if release == nil || starts() {
		t.Error("a task starts meanwhile")
	}
	release()
	if release = held(); release == nil {
		t.Fatal("a task runs before it has started")
	}
	release()
	if !starts() || held() != nil {
		t.Error("a task does not run after it has started")
	}
	d.turn.Leave(d.turn.Current())
	rec, err := d.bot.Journal.Tasks.Next(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	rec.Container, rec.Run = "c", "r"
	if err := d.bot.Journal.Tasks.Claim(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if held() != nil {
		t.Error("a run that has outlived the bot is over")
	}
}
