package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/clean"
)

// Bounds of an entry.
const (
	MaxEntries = 50   // in a room
	maxText    = 4000 // bytes of a task
	maxGate    = 1000 // bytes of a command
)

// Book is the schedule of a room for somebody who wants to change it. Each change is one transaction with what the room
// is told about it. The methods return a [Refused], or an error of the journal.
type Book struct {
	Env    *task.Env
	User   string                            // who asks
	Event  string                            // the message that asks
	Now    time.Time                         // for people: see [task.Clock]
	Barred string                            // why the user may not change anything, or ""
	Tell   func(said string) []state.Message // what tells the room
	Closes []string                          // events that a change finishes
}

// Barred returns why a user may not change the schedule of a room with a policy, or "".
func Barred(who policy.Who, owner bool) string {
	switch {
	case who == policy.ForNobody:
		return "nobody may schedule tasks in this room"
	case who == policy.ForOwners && !owner:
		return "only owners may change what is scheduled here"
	}
	return ""
}

func (b *Book) zone() *time.Location { return b.Env.Rules().Zone }

// Add checks an entry, stores it with its number and its next time, and returns what the room was told. It is
// [state.ErrTwice] if it was told that before.
func (b *Book) Add(ctx context.Context, e state.Entry) (said string, err error) {
	e.Room, e.By, e.Events, e.Created = b.Env.ID, b.User, b.Event, b.Now.UTC()
	if err := b.check(&e); err != nil {
		return "", err
	}
	plan(&e, b.Env, b.Now)
	err = b.Env.Journal.Schedule.Add(ctx, e, MaxEntries, func(e state.Entry) []state.Message {
		said = Confirmation(e, b.zone())
		return b.Tell(said)
	}, b.Closes...)
	if errors.Is(err, state.ErrFull) {
		return "", refuse("this room has %d entries, and may have no more: remove one first", MaxEntries)
	}
	return said, err
}

// check checks what people or the agent have said.
func (b *Book) check(e *state.Entry) error {
	e.When.At = e.When.At.UTC()
	e.Text, e.Gate = strings.TrimSpace(clean.Text(e.Text)), strings.TrimSpace(e.Gate)
	switch {
	case b.Barred != "":
		return Refused(b.Barred)
	case e.Text == "":
		return refuse("say what I am to do at that time")
	case len(e.Text) > maxText:
		return refuse("the task is too long: it has %d bytes, and may have %d", len(e.Text), maxText)
	case len(e.Gate) > maxGate || strings.ContainsAny(e.Gate, "\x00\r\n"):
		return refuse("the command that decides about a run must be one line of at most %d bytes", maxGate)
	}
	switch e.Missed {
	case "":
		e.Missed = state.MissedOnce
	case state.MissedOnce, state.MissedSkip, state.MissedAll:
	default:
		return refuse("%q is no rule for missed runs: write once, skip or all", e.Missed)
	}
	return nil
}

// plan sets when an entry is due next, after a time.
func plan(e *state.Entry, env *task.Env, after time.Time) {
	zone := env.Rules().Zone
	e.Zone, e.Next = zone.String(), Next(e.When, after, zone).UTC()
}

func (b *Book) get(ctx context.Context, number int) (state.Entry, error) {
	e, err := b.Env.Journal.Schedule.Get(ctx, b.Env.ID, number)
	if errors.Is(err, state.ErrNotFound) {
		err = refuse("there is no #%d here: `!schedule` lists what there is", number)
	}
	return e, err
}

// Remove removes an entry and returns what the room was told.
func (b *Book) Remove(ctx context.Context, number int) (said string, err error) {
	e, err := b.get(ctx, number)
	if err != nil {
		return "", err
	}
	if b.Barred != "" {
		return "", Refused(b.Barred)
	}
	said = removed(e)
	return said, b.Env.Journal.Schedule.Remove(ctx, e, b.User, b.Tell(said), b.Closes...)
}

// maxEvents bounds the messages of an entry that are known.
const maxEvents = 10

// set changes an entry.
func (b *Book) set(ctx context.Context, was, e state.Entry) error {
	events := append(strings.Fields(e.Events), b.Event)
	e.Events = strings.Join(events[max(0, len(events)-maxEvents):], " ")
	if err := b.check(&e); err != nil {
		return err
	}
	if e.Next.IsZero() {
		return refuse("its time has passed: give it another one, or remove it")
	}
	said := "🗓 " + strings.TrimPrefix(line(e, b.zone()), "- ")
	return b.Env.Journal.Schedule.Change(ctx, was, e, nil, b.Tell(said), b.Closes...)
}

// now queues a run of an entry at once. One that was to run once is gone then.
func (b *Book) now(ctx context.Context, e state.Entry) error {
	if err := b.check(&e); err != nil {
		return err
	}
	r, err := runOf(e, state.Hash(b.Event), b.Now, b.Now, 0)
	if err != nil {
		return err
	}
	r.Task.Scheduled.Asked = true
	next, said := e, fmt.Sprintf("🗓 #%d runs now.", e.Number)
	if !e.When.At.IsZero() {
		next.Next, said = time.Time{}, fmt.Sprintf("🗓 #%d runs now, and not again.", e.Number)
	}
	return b.Env.Journal.Schedule.Change(ctx, e, next, []state.Run{r}, b.Tell(said), b.Closes...)
}
