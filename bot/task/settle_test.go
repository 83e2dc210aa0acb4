package task

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/bot/container"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
)

// A task that ends does not bring back a session that somebody has ended since it began, and the next task of a room
// without a session does not depend on that.
func TestKeepSession(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after func(*state.Store) error
		want          string // "own" is the task's
	}{
		{"first task", nil, nil, "own"},
		{"first task, reset", nil, end, ""},
		{"after a reset", end, nil, "own"},
		{"after a reset, reset", end, end, ""},
		{"another session", set("s"), nil, "s"},
		{"another session, reset", set("s"), end, ""},
		{"somebody else's session came first", nil, set("other"), "other"},
		{"it is there already", nil, set("own"), "own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			journal, store, err := state.Open(t.Context(), t.TempDir(), zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
			do := func(change func(*state.Store) error) {
				if change == nil {
					return
				}
				if err := change(store); err != nil {
					t.Fatal(err)
				}
			}
			do(c.before)
			env := newEnv(&Deps{Shared: container.Shared{Store: store, Warm: container.NewWarm(0, time.Minute), Policy: policy.Open(t.TempDir(), zerolog.Nop())}}, "!r")
			task := env.Task(state.Task{Key: "k", Room: "!r"})
			task.plan("")
			if !task.rec.Resume {
				task.rec.Session = "own"
			}
			task.rec.Resumable = true
			do(c.after)
			task.plan(agent.NeedsInput) // it was answered
			for range 2 {
				if err := (settlement{task}).keepSession(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := store.Conversations.Session("!r"); got != c.want {
				t.Errorf("the room's session is %q, want %q", got, c.want)
			}
		})
	}
}

func end(s *state.Store) error { return s.Conversations.EndSession(context.Background(), "!r") }

func set(id string) func(*state.Store) error {
	return func(s *state.Store) error { return s.Conversations.SetSession(context.Background(), "!r", id) }
}
