package bot

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/container"
	"matrix-tui/bot/update"
	"matrix-tui/state"
)

// panicking panics with every order for an update.
type panicking struct {
	update.Updater
	begun int
}

func (p *panicking) Begin(update.Order) (bool, error) {
	p.begun++
	panic("secret words")
}

// unprepared panics when an update is prepared.
type unprepared struct{ update.Updater }

func (unprepared) Begin(update.Order) (bool, error) { return false, nil }

// An event that panics stops nothing: the room is told, and the next one is handled.
func TestPanicOfAnEvent(t *testing.T) {
	var log strings.Builder
	d := newDeciding(t, everything)
	d.bot.log = zerolog.New(&log)
	d.bot.work.Log = d.bot.log
	updates := &panicking{}
	d.bot.commands.Updates = updates
	d.text("$1", "@ann:here", "!self_update", 0)
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
	unsent, err := d.bot.Journal.Messages.Unsent(t.Context(), d.id)
	if err != nil || updates.begun != maxPanics || len(unsent) != 2 {
		t.Fatalf("tried %d times, %d messages, %v", updates.begun, len(unsent), err)
	}
	if said := unsent[0].Body; !strings.Contains(said, "internal error") || !strings.Contains(said, "I could not handle this message") {
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
	first, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$1")
	if err != nil || first.State != state.TaskDone {
		t.Errorf("the first task is %s, %v", first.State, err)
	}
	if next, err := d.bot.Journal.Tasks.Next(t.Context(), d.id); err != nil || next.Event != "$2" {
		t.Errorf("next is %s, %v", next.Event, err)
	}
}

// What the start and the background do with one event, question or room stops no other one. A message whose decryption
// panics is given up, and its room is told.
func TestPanicOfStart(t *testing.T) {
	d := newDeciding(t, everything)
	var log strings.Builder
	d.bot.log = zerolog.New(&log)
	d.bot.work.Log = d.bot.log
	d.text("$1", "@ann:here", "paint the shed", 0)
	d.decides()
	asking, err := d.bot.Journal.Tasks.Next(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	asking.Question, asking.QuestionRoom, asking.QuestionEvent = "Which colour?", d.id, "$q"
	if err := d.bot.Journal.Tasks.Wait(t.Context(), asking, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.bot.Journal.Events.Commit(t.Context(), "", []state.Event{keylessEvent(d, "$2", "s")}); err != nil {
		t.Fatal(err)
	}
	account := d.bot.account
	d.bot.use(nil)
	d.env.Waits = nil
	for next := d.undecided(); ; {
		do, err := next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if do == nil {
			break
		}
		_ = do() // drain tries again what fails
	}
	d.bot.use(account)
	if err := d.bot.resumeWaiting(t.Context()); err != nil {
		t.Error(err)
	}
	d.bot.work.Start(func() { panic("secret words") })
	d.bot.work.Wait()

	if left, err := d.bot.Journal.Events.Pending(t.Context(), d.id, 0, 9); err != nil || len(left) > 0 {
		t.Errorf("%d events are left, %v", len(left), err)
	}
	if unsent, err := d.bot.Journal.Messages.Unsent(t.Context(), d.id); err != nil || len(unsent) != 1 || !strings.Contains(unsent[0].Body, "I could not handle this message") {
		t.Errorf("the room is told %+v, %v", unsent, err)
	}
	for _, want := range []string{"handling an event", "resuming a question", "working in the background"} {
		if !strings.Contains(log.String(), "panic while "+want) {
			t.Errorf("no panic while %s: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "secret words") {
		t.Errorf("log: %s", log.String())
	}
}

// A panic while the agent is started for the next task, or while the bot updates itself, does not keep either from being
// tried again.
func TestPanicInBackground(t *testing.T) {
	d := newDeciding(t, everything)
	var log strings.Builder
	d.bot.log = zerolog.New(&log)
	d.bot.work.Log = d.bot.log
	if err := d.bot.Store.Containers.Set(t.Context(), d.id, "sandbox-den"); err != nil {
		t.Fatal(err)
	}
	d.env.Warm, d.env.Keeper = container.NewWarm(1, time.Hour), nil
	for range 2 {
		d.env.SignOfLife(t.Context(), 0)
		d.bot.work.Wait()
	}
	if n := strings.Count(log.String(), "panic while working in the background"); n != 2 {
		t.Errorf("%d panics: %s", n, log.String())
	}
	d.bot.Updates, d.bot.commands.Updates = unprepared{}, unprepared{}
	d.text("$1", "@ann:here", "!self_update", 0)
	d.decides()
	d.bot.work.Wait()
	if told, err := d.bot.Journal.Messages.Get(t.Context(), state.KeyOf(d.id, "$1")+"-updated"); err != nil || !strings.Contains(told.Body, "The update failed; I keep running the current release.") {
		t.Errorf("the room is told %s, %v", told.Body, err)
	}
}

// Neither does what chooses the next work, nor that work.
func TestPanicElsewhere(t *testing.T) {
	d := newDeciding(t, everything)
	var log strings.Builder
	d.bot.log = zerolog.New(&log)
	d.bot.work.Log = d.bot.log
	for _, work := range []func(){
		func() { d.drain(func(context.Context) (func() error, error) { panic("x") }) },
		func() {
			d.drain(func(context.Context) (func() error, error) { return func() error { panic("x") }, nil })
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		d.bot.ctx = ctx
		work()
		cancel()
	}
	for _, want := range []string{"choosing the next work", "working"} {
		if !strings.Contains(log.String(), "panic while "+want) {
			t.Errorf("no panic while %s: %s", want, log.String())
		}
	}
}
