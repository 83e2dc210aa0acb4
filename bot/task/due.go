package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"matrix-tui/agent"
	"matrix-tui/agent/gemini"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// leastRest is the pause after a run that the model refused, if the gateway lets requests through again by now.
const leastRest = 15 * time.Second

// Rests reports whether a task has nothing to do before a time. One that waits for a model goes on at once if it is
// to be stopped, or if the room uses another model by now.
func (e *Env) Rests(rec state.Task) (until time.Time, rests bool) {
	until = rec.Due.At
	if !until.After(e.Clock.Now()) || rec.StopBy != "" {
		return until, false
	}
	now, known := e.Models.Now(e.Rules().Model)
	return until, !known || rec.Model == now.Name
}

// closed returns an outcome if nothing may be sent to the room's model now.
func (a *attempt) closed() (out agent.Outcome) {
	env := a.task.env
	if now, known := env.Models.Now(env.Rules().Model); known {
		if _, closed := env.Route.Closed(now.Name); closed {
			a.task.rec.Model = now.Name
			out.Ended, out.Detail = agent.Unavailable, "The model takes no requests at the moment."
		}
	}
	return out
}

// rest lets a task wait until its model may take requests again: the next run is planned, and the worker and the slot
// are free. If the task cannot wait, rest returns false and changes the outcome to what the room is told.
func (w *Work) rest(ctx context.Context, out *agent.Outcome) (rests bool, err error) {
	t, rec, env := w.task, &w.task.rec, w.task.env
	closure, closed := env.Route.Closed(rec.Model)
	if !closed {
		closure = gemini.Closure{Until: time.Now().Add(leastRest)}
	}
	wait := time.Until(closure.Until)
	here := time.Now().In(env.rules().Zone)
	if rec.Compact || rec.Due.Waited+wait > env.QuotaWait {
		out.Detail = impatient(out.Detail, closure, env.QuotaWait, here)
		return false, nil
	}
	why := dueText(closure, here)
	noticed, err := t.noticed(ctx)
	if err != nil {
		return false, err
	}
	notice := t.Voice().notice("⏳ " + why)
	if noticed {
		notice = t.Voice().closing(len(t.exec.Answers), "⏳ "+why, "")
		notice.Txn += "-due-" + state.Hash(fmt.Sprint(rec.Run, rec.Due.Waited)) // of this wait
	}
	rows := env.Room.Render(ctx, notice)
	err = t.decide(ctx, func() error {
		if rec.Container != "" {
			env.Settle(rec.Run)
			rec.Due.Begun = rec.Due.Begun || len(out.Tools) > 0
			told := rec.Told
			if t.again(*out, w.acted.Load()); len(out.Tools) == 0 {
				rec.Told = min(rec.Told, told) // the session may not have kept what it was told
			}
		}
		rec.Begun = time.Time{}
		rec.Due.At, rec.Due.Why, rec.Due.Waited = env.Clock.In(wait), why, rec.Due.Waited+wait
		return env.Journal.Tasks.Note(ctx, t.Row(), rows...)
	})
	if errors.Is(err, errStopped) {
		out.Ended = agent.Stopped
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("let task rest: %w", err)
	}
	crash.At("rested")
	env.Room.Wake()
	env.Log.Info().Str("room", env.ID).Str("event", rec.Event).Str("model", rec.Model).Time("until",
		closure.Until).Msg("the task waits for the model")
	return true, nil
}

// dueText says what a task waits for.
func dueText(c gemini.Closure, now time.Time) string {
	at := clockText(c.Until, now)
	switch {
	case c.Kind == gemini.Overload:
		return "The model is overloaded; I'll try again at " + at + "."
	case c.Kind == "":
		return "The model takes no requests at the moment; I'll try again at " + at + "."
	case c.PerDay && c.Named:
		return "The model's daily quota is used up until " + at + "; I'll continue then."
	case c.PerDay:
		return "The model's daily quota is used up; I'll try again at " + at + "."
	case c.Named:
		return "The model's quota is used up until " + at + "; I'll continue then."
	}
	return "The model's quota is used up; I'll try again at " + at + "."
}

// clockText returns the next full minute after a time, in now's time zone, with the day unless that is today.
func clockText(at, now time.Time) string {
	at = at.In(now.Location()).Add(time.Minute - 1).Truncate(time.Minute)
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("Monday, 2 January, 15:04")
}

// impatient says why a task does not wait for its model.
func impatient(why string, c gemini.Closure, limit time.Duration, now time.Time) string {
	if limit <= 0 {
		return why + " Send the task again after " + clockText(c.Until, now) + "."
	}
	return fmt.Sprintf("%s I do not wait longer than %s (QUOTA_WAIT); send the task again after %s.", why,
		text.Duration(limit), clockText(c.Until, now))
}
