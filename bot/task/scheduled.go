package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/clean"
)

const (
	// NoReply is the whole answer of a run of the schedule that is not to be shown.
	NoReply = "NO_REPLY"
	// gateTime bounds the command that decides whether the agent starts.
	gateTime = time.Minute
)

// gate runs the command that decides about a run of the schedule, if there is one. The outcome is empty if the agent is
// to start.
func (a *attempt) gate(ctx context.Context) (out agent.Outcome, err error) {
	gate := a.task.rec.Scheduled.Gate
	if gate == "" || a.task.rec.Attempt > 1 {
		return out, nil
	}
	a.shown.Set("running the command that decides about this run")
	limited, cancel := context.WithTimeout(ctx, gateTime+10*time.Second)
	defer cancel()
	res, err := a.container.Exec(limited, sandbox.Cmd{MaxOutput: 4 << 10, Argv: []string{"timeout", "--preserve-status",
		"-k", "5", fmt.Sprint(gateTime.Seconds()), "sh", "-c", gate}})
	said := "The command " + text.Code(clean.Line(gate, maxReminder)) + ", which decides about this run, "
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded), err == nil && (res.Code == 128+15 || res.Code == 128+9):
		return agent.Outcome{Ended: agent.Crashed, Detail: said + "did not end within " + text.Duration(gateTime) + "."}, nil
	case err != nil:
		return crashed(ctx, a.task.env, err)
	case res.Code == 126 || res.Code == 127:
		return agent.Outcome{Ended: agent.Crashed, Detail: said + "cannot be run: " +
			clean.Line(string(res.Stderr), maxReminder)}, nil
	case res.Code != 0 && a.task.rec.Scheduled.Asked:
		return agent.Outcome{Ended: agent.Completed, Text: said + "has failed, so there was nothing to do."}, nil
	case res.Code != 0:
		return agent.Outcome{Ended: agent.Completed, Text: NoReply}, nil
	}
	return out, nil
}

// quiet reports whether a task is a run of the schedule whose result says nothing.
func quiet(rec *state.Task) bool {
	return rec.Source == state.FromSchedule && rec.Ended == string(agent.Completed) &&
		strings.TrimSpace(rec.Result) == NoReply
}

// pauses returns the message that the task's entry is paused, if the task is the last failure that it may have.
func (e ending) pauses(ctx context.Context) ([]Message, error) {
	s := e.t.rec.Scheduled
	if s.Number == 0 || e.out.Ended == agent.Completed || e.out.Ended == agent.Stopped {
		return nil, nil
	}
	entry, err := e.t.env.Journal.Schedule.Get(ctx, e.t.env.ID, s.Number)
	if errors.Is(err, state.ErrNotFound) ||
		err == nil && (entry.Key() != s.Entry || entry.Failures+1 != state.MaxFailures) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read entry: %w", err)
	}
	m := e.t.Voice().bare(state.KindReply, "-paused", fmt.Sprintf("⏸ #%d has failed %d times in a row, so I paused it. "+
		"`!schedule %[1]d resume` continues it, `!schedule %[1]d remove` removes it.", s.Number, state.MaxFailures))
	m.Notice, m.Mention = false, e.t.rec.Asker()
	return []Message{m}, nil
}

// scheduledText says which run of the schedule a task is, and for whom, if that is not "": the beginning of what quotes
// it.
func scheduledText(s state.Scheduled, who string, zone *time.Location) string {
	said := fmt.Sprintf("⏰ #%d", s.Number)
	if who != "" {
		said += " for " + who
	}
	if s.Late > state.OnTime || s.Missed > 0 {
		said += ", due " + s.At.In(zone).Format("Mon 2 Jan 15:04")
	}
	if s.Missed > 0 {
		said += ", for " + text.Plural(s.Missed+1, "missed run", "missed runs")
	}
	return said
}
