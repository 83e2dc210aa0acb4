package bot

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
)

// An event that panics stops nothing: the room is told, and the next one is handled.
func TestPanicOfAnEvent(t *testing.T) {
	tried := 0
	commands = append(commands, command{name: "panic", run: func(*room, context.Context, state.Event, string) error {
		tried++
		panic("secret words")
	}})
	t.Cleanup(func() { commands = commands[:len(commands)-1] })
	var log strings.Builder
	d := newDeciding(t, everything)
	d.bot.log = zerolog.New(&log)
	d.text("$1", "@ann:here", "!panic", 0)
	d.text("$2", "@ann:here", "!status", time.Minute)
	next := d.undecided()
	for {
		do, err := next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if do == nil {
			break
		}
		_ = do() // drain tries again what fails
	}
	unsent, err := d.bot.Journal.Unsent(t.Context(), d.id)
	if err != nil || tried != maxPanics || len(unsent) != 2 {
		t.Fatalf("tried %d times, %d messages, %v", tried, len(unsent), err)
	}
	if said := string(unsent[0].Content); !strings.Contains(said, "internal error") || !strings.Contains(said, "I could not handle this message") {
		t.Errorf("the room is told %s", said)
	}
	if log := log.String(); strings.Contains(log, "secret words") || !strings.Contains(log, "TestPanicOfAnEvent") {
		t.Errorf("log: %s", log)
	}
}

// A task that panics is given up, and the next one begins. There is no podman here.
func TestPanicOfATask(t *testing.T) {
	d := newDeciding(t, everything)
	d.text("$1", "@ann:here", "first", 0)
	d.text("$2", "@ann:here", "second", time.Minute)
	d.decides()
	for i := range maxPanics {
		do, err := d.nextTask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := do(); (err == nil) != (i == maxPanics-1) {
			t.Fatalf("attempt %d: %v", i, err)
		}
	}
	first, err := d.bot.Journal.TaskOf(t.Context(), d.id, "$1")
	if err != nil || first.State != state.TaskDone {
		t.Errorf("the first task is %s, %v", first.State, err)
	}
	if next, err := d.bot.Journal.NextTask(t.Context(), d.id); err != nil || next.Event != "$2" {
		t.Errorf("next is %s, %v", next.Event, err)
	}
}
