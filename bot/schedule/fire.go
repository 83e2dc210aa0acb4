package schedule

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// typeRun is the type of the event that stands for a run of an entry.
const typeRun = event.OwnTypes + "run"

// Fire queues what is due of an entry at a time for people, and stores when it is due next. The caller wakes the
// room's worker. It is no error if somebody has changed or removed the entry meanwhile.
func Fire(ctx context.Context, env *task.Env, e state.Entry, now time.Time) error {
	zone, next := env.Rules().Zone, e
	next.Zone = zone.String()
	unfinished, err := env.Journal.Schedule.Unfinished(ctx, e)
	if err != nil {
		return err
	}
	d := DueOf(e, unfinished, now, zone)
	next.Next = time.Time{}
	if !d.Next.IsZero() {
		next.Next = d.Next.UTC()
	}
	runs, missed := make([]state.Run, 0, len(d.Runs)), d.Missed
	var out []state.Message
	if e.Missed == state.MissedSkip && missed > 0 && unfinished == 0 {
		out = append(out, state.Message{Room: e.Room, Kind: state.KindReply, Notice: true, Body: skipped(e, missed, zone),
			Txn: e.Key() + "-skipped-" + strconv.FormatInt(e.Next.Unix(), 10)})
		missed = 0
	}
	for _, at := range d.Runs {
		r, err := runOf(e, strconv.FormatInt(at.Unix(), 10), at, now, missed)
		if err != nil {
			return err
		}
		missed = 0
		runs = append(runs, r)
	}
	return Ignore(env.Journal.Schedule.Change(ctx, e, next, runs, out))
}

// Replan stores when the entries of a room that has another time zone by now are due next. What is due already stays
// so.
func Replan(ctx context.Context, env *task.Env, now time.Time) error {
	all, err := env.Journal.Schedule.In(ctx, env.ID)
	for _, e := range all {
		next := e
		if plan(&next, env, now); !e.Next.After(now) { // its zone changes with its run
			continue
		}
		if next.When.Cron == "" {
			next.Next = e.Next
		}
		err = errors.Join(err, Ignore(env.Journal.Schedule.Change(ctx, e, next, nil, nil)))
	}
	return err
}

// runOf returns the run of an entry that was due at a time, and stands for runs that were missed. With the same name,
// it is the same run, and queued once.
func runOf(e state.Entry, name string, at, now time.Time, missed int) (state.Run, error) {
	row := state.Event{Event: event.Event{Room: e.Room, Sender: e.By, Type: typeRun, Time: now.UTC(),
		ID: fmt.Sprintf("$%s-%s-%s", typeRun, e.Key(), name)}}
	rec, err := task.New(state.Task{Source: state.FromSchedule, Home: e.Room, Text: e.Text, Requester: e.By,
		Execution: task.ExecutionID(e.Room, row.ID),
		Details: state.Details{Scheduled: state.Scheduled{Number: e.Number, Entry: e.Key(), At: at.UTC(),
			Late: now.Sub(at), Missed: missed, Gate: e.Gate}}}, row)
	return state.Run{Event: row, Task: rec}, err
}

// Ignore leaves out the errors that say that somebody else was faster.
func Ignore(err error) error {
	if errors.Is(err, state.ErrFinished) || errors.Is(err, state.ErrNotFound) {
		return nil
	}
	return err
}
