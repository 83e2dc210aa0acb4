package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/command"
	"matrix-tui/bot/schedule"
	"matrix-tui/bot/status"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// RoomLine is a room in the list.
type RoomLine struct {
	ID, Name string
	Running  bool
	Waiting  int // open questions
	Queued   int
}

// Busy reports whether the room has work.
func (l RoomLine) Busy() bool { return l.Running || l.Waiting > 0 || l.Queued > 0 }

// Rooms returns the rooms that a visitor may see, those with work first.
func (p Page) Rooms(ctx context.Context, v state.Visitor) ([]RoomLine, error) {
	ids, unfinished, err := p.known(ctx)
	if err == nil {
		ids, err = p.visible(ctx, v, ids)
	}
	if err != nil {
		return nil, err
	}
	names := p.names(ids)
	lines := make([]RoomLine, len(ids))
	for i, id := range ids {
		lines[i] = RoomLine{ID: id, Name: names[id], Waiting: p.bot.waits.Count(id)}
		if !slices.Contains(unfinished, id) {
			continue
		}
		lines[i].Running = p.bot.room(id).turn.Current() != nil
		if lines[i].Queued, err = p.bot.Journal.Tasks.Count(ctx, id, state.TaskQueued); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(lines, func(a, b RoomLine) int {
		if a.Busy() != b.Busy() {
			return map[bool]int{true: -1, false: 1}[a.Busy()]
		}
		return strings.Compare(strings.ToLower(a.Name)+a.ID, strings.ToLower(b.Name)+b.ID)
	})
	return lines, nil
}

// RoomView is a room's page.
type RoomView struct {
	ID, Name, Container string
	Running             string      // what the current task is at, in Markdown; "" without one
	Now                 status.Room // of its tasks
	Open                []TaskLine  // running, waiting and queued tasks, oldest first
	Ended               []TaskLine  // the newest
	Model, Usage        string      // Markdown
	Uses                string      // what its container used at UsesAt; "" if unknown
	UsesAt              time.Time
	Agent               string // the version of the agent in it; "" if unknown
	Days                []Day  // what it has used on the last 30 days, oldest first
	Schedule            string // Markdown
}

// TaskLine is a task in a list.
type TaskLine struct {
	*execution.Execution
	Stopped bool // by somebody
}

func lineOf(rec state.Task) TaskLine { return TaskLine{task.ExecutionOf(rec), wasStopped(rec)} }

func wasStopped(rec state.Task) bool { return hasEnded(rec) && rec.Ended == string(agent.Stopped) }

// hasEnded reports whether the room has a task's result, even if files of it are still to come.
func hasEnded(rec state.Task) bool {
	return rec.State == state.TaskDone || rec.State == state.TaskAnswered
}

// Room returns a room's page, or ErrNoRoom if there is no such room, or none for the visitor.
func (p Page) Room(ctx context.Context, v state.Visitor, room string) (view RoomView, err error) {
	r, err := p.open(ctx, v, room)
	if err != nil {
		return view, err
	}
	view = RoomView{ID: room, Name: p.names([]string{room})[room], Container: p.bot.Store.Containers.Of(room)}
	if view.Now, err = status.Of(ctx, &r.turn); err != nil {
		return view, err
	}
	if w := view.Now.Current; w != nil {
		if now, shown := w.Progress(); shown {
			view.Running = now.Text
		}
	}
	tasks := p.bot.Journal.Tasks
	running, err1 := tasks.In(ctx, room, state.TaskRunning)
	queued, err2 := tasks.In(ctx, room, state.TaskQueued)
	newest, err3 := tasks.Newest(ctx, room, shownTasks)
	if err := errors.Join(err1, err2, err3); err != nil {
		return view, err
	}
	for _, rec := range slices.Concat(running, view.Now.Waiting, queued) {
		view.Open = append(view.Open, lineOf(rec))
	}
	for _, rec := range newest {
		if hasEnded(rec) {
			view.Ended = append(view.Ended, lineOf(rec))
		}
	}
	if view.Usage, err = p.bot.tasks.Budget.UsageLine(ctx, room, p.bot.clock.Now()); err != nil {
		return view, fmt.Errorf("read usage: %w", err)
	}
	view.Model = command.ModelLine(r.env)
	if view.Container != "" {
		use := r.env.Used(p.bot.ctx, useTime)
		view.Uses, view.UsesAt, view.Agent = command.Uses(use.Memory, use.Disk), use.At, use.Agent
	}
	days, err := p.bot.Journal.Budget.Days(ctx, room, chartDays)
	if err != nil {
		return view, fmt.Errorf("read usage: %w", err)
	}
	view.Days = chart(days, p.bot.clock.Now())
	view.Schedule, err = (&schedule.Book{Env: r.env}).List(ctx)
	return view, err
}

// Day is what a room has used of the model on one day (UTC).
type Day struct {
	Date   time.Time
	Tokens int64
}

// chart returns the last days, oldest first, also those on which nothing was used. newest has what was used, newest
// first.
func chart(newest []state.Spending, now time.Time) []Day {
	days := make([]Day, chartDays)
	for i := range days {
		days[i].Date = now.UTC().Truncate(24*time.Hour).AddDate(0, 0, i+1-chartDays)
		for _, s := range newest {
			if s.Day.Equal(days[i].Date) {
				days[i].Tokens = s.Tokens()
			}
		}
	}
	return days
}
