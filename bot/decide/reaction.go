package decide

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/stop"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// undoKeys are the reactions that take back what a task has noted.
var undoKeys = []string{"🗑", "❌"}

// Reaction handles a reaction that selects an option, stops a task or takes back its notes, and ignores any other.
func (r *Room) Reaction(ctx context.Context, row state.Event) error {
	react, _ := row.Reaction()
	about, err := r.About(ctx, react.EventID)
	if err != nil {
		return err
	}
	rec, key := about.Task, strings.TrimRight(react.Key, "\uFE0F")
	switch {
	case rec == nil:
		return r.Finish(ctx, row)
	case key == stop.Key:
		return r.One(ctx, rec.Key, row)
	case !about.Asks():
		return r.undo(ctx, row, key, about.Told)
	}
	n := about.Told.Number
	switch v := ofQuestion(rec.State, n, len(rec.Answers)); v {
	case isAnswer:
		if answer, ok := agent.Chosen(r.Env.Task(*rec).Question().Options(), react.Key); ok {
			return r.bind(ctx, row, rec.Key, answer)
		}
	case isLate:
		_, ok := agent.Chosen(agent.Options(rec.Answers[n].Question), react.Key)
		if ok || react.Key == task.YesKey || react.Key == task.NoKey {
			return r.tooLate(ctx, row, *rec, v)
		}
	}
	return r.Finish(ctx, row)
}

// undo takes back what a task has noted, if a reaction on its result asks for that.
func (r *Room) undo(ctx context.Context, row state.Event, key string, told state.Message) error {
	if told.Kind != state.KindFinal || !slices.Contains(undoKeys, key) {
		return r.Finish(ctx, row)
	}
	gone, err := r.Env.Recall.Undo(ctx, told.Task)
	if err != nil {
		return fmt.Errorf("take back notes: %w", err)
	}
	if len(gone) == 0 {
		return r.Finish(ctx, row)
	}
	return r.Out.Tell(ctx, row, "I no longer remember what that task "+recall.NotedLine(gone)+".")
}
