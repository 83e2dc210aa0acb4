package task

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/container"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
	"matrix-tui/workspace"
)

// The CLI must keep what a waiting task or the next one continues, and nothing of a task that is over.
func TestNeededSessions(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	journal, err := state.OpenJournal(ctx, filepath.Join(dir, "journal.db"), zerolog.Nop())
	must(err)
	defer journal.Close()
	store, err := state.OpenStore(ctx, journal, zerolog.Nop())
	must(err)
	defer store.Close()
	env := newEnv(&Deps{Shared: container.Shared{Journal: journal, Store: store}}, "!den:x")
	check := func(want ...string) {
		t.Helper()
		got := env.Sessions(ctx)
		slices.Sort(got)
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Error(diff)
		}
	}
	check()
	must(store.Conversations.SetSession(ctx, env.ID, "own"))
	task := func(key, room string) state.Task {
		t.Helper()
		rows, err := journal.Events.Commit(ctx, "", []state.Event{{Status: state.Pending, Event: event.Event{ID: "$" + key, Room: room, Type: event.TypeMessage, Sender: "@ann:x", Time: time.Now()}}})
		must(err)
		rec, err := New(state.Task{Source: state.FromRoom, Home: room, Execution: key, Text: key}, rows[0])
		must(err)
		rec.Session = key
		must(journal.Tasks.Enqueue(ctx, rec))
		return rec
	}
	must(journal.Tasks.Wait(ctx, task("asks", env.ID), nil))
	must(journal.Tasks.Claim(ctx, task("runs", env.ID)))
	task("queued", env.ID)
	task("elsewhere", "!attic:x")
	over := task("over", env.ID)
	must(journal.Tasks.Answer(ctx, over, nil))
	must(journal.Tasks.Finish(ctx, over.Key))
	check("asks", "own", "queued", "runs")
	must(journal.Close())
	if got := env.Sessions(ctx); got != nil {
		t.Errorf("without the journal: %q", got)
	}
}

// The prompt names the file of an answer as it is in the inbox, where another one may have had its name.
func TestAnswerWithFile(t *testing.T) {
	one := &Task{
		env:  &Env{},
		exec: &execution.Execution{Answers: []execution.Answer{{Question: "How?", Answer: "so\n/workspace/inbox/a.png", Event: "$1"}, {Question: "Sure?", Answer: "/workspace/inbox/a.png", Event: "$2"}}},
		rec:  state.Task{Details: state.Details{Files: []state.File{{Event: "$1", Path: "/workspace/inbox/a.png"}, {Event: "$2", Path: "/workspace/inbox/a-1234abcd.png"}}}},
	}
	want := []workspace.Answered{{Question: "How?", Answer: "so\n/workspace/inbox/a.png"}, {Question: "Sure?", Answer: "/workspace/inbox/a-1234abcd.png"}}
	if diff := cmp.Diff(want, exchanges(one)); diff != "" {
		t.Error(diff)
	}
}
