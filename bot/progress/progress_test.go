package progress

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent"
)

func called(id, tool, detail string) agent.Event {
	return agent.Event{Kind: agent.EventTool, ID: id, Tool: tool, Detail: detail}
}

func returned(id, tool string) agent.Event {
	return agent.Event{Kind: agent.EventToolResult, ID: id, Tool: tool, Detail: "output"}
}

// fitting is a place whose notices have room for 4 KiB.
type fitting struct{ Place }

func (fitting) Fits(text string) bool { return fits(text) }

func fits(text string) bool { return len(text) < 4<<10 }

const eyes = "👀"

const shell = "run_shell_command"

// The notice is edited after a change, and at intervals to show the elapsed time.
func TestProgressDue(t *testing.T) {
	p := &Notice{place: fitting{}, since: time.Now()}
	fresh, old := time.Now(), time.Now().Add(-idleEvery)
	due := func(what string, edited time.Time, want bool) {
		t.Helper()
		if text, got := p.due(edited, ""); got != want || got != strings.HasPrefix(text, "⏳ Working on it · ") {
			t.Errorf("%s: %v, %q", what, got, text)
		}
	}
	due("nothing new", fresh, false)
	due("only the time has changed", old, true)
	p.Event("run", called("a", shell, "ls"))
	due("a step", fresh, true)
	due("already shown", fresh, false)
	p.Event("run", returned("a", shell))
	due("its result", fresh, true)
	p.Event("run", returned("a", ""))
	due("its result again", fresh, false)
	p.Event("run", called("b", shell, "make"))
	p.Set("no output for 6 min")
	if text, _ := p.due(fresh, ""); !strings.Contains(text, "no output for 6 min") {
		t.Errorf("a silent command: %q", text)
	}
	p.Event("run", returned("b", shell))
	if text, _ := p.due(fresh, ""); strings.Contains(text, "no output") {
		t.Errorf("after its result: %q", text)
	}
	p.Set("slow")
	due("a note", fresh, true)
	p.again()
	due("the edit failed", fresh, true)
	p.since = time.Now().Add(-2 * time.Minute)
	due("idle for long", old, false)
	if text, due := p.due(old.Add(-lateEvery), p.text()); due {
		t.Errorf("an edit that changes nothing: %q", text)
	}
}

// A growing answer is shown at once at first, then less often, and with everything else that is shown.
func TestDraftDue(t *testing.T) {
	p := &Notice{place: fitting{}, since: time.Now()}
	say := func(edited time.Time) bool {
		p.Event("run", agent.Event{Kind: agent.EventText, Text: "So far"})
		text, due := p.due(edited, "")
		return due && strings.HasSuffix(text, "\n\n> So far")
	}
	for i := range freeDrafts {
		if !say(time.Now()) {
			t.Errorf("draft %d is not shown", i+1)
		}
	}
	if say(time.Now()) || !say(time.Now().Add(-draftEvery)) {
		t.Error("later ones do not wait")
	}
	p.Set("slow")
	if !say(time.Now().Add(-draftEvery)) || p.note != "" {
		t.Error("the note stays while text arrives")
	}
	p.Event("run", called("a", shell, "ls"))
	if text, due := p.due(time.Now(), ""); !due || strings.Contains(text, "> So far") {
		t.Errorf("%v, %q", due, text)
	}
}

// Now may be called while the run reports events.
func TestProgressNowWhileRunning(t *testing.T) {
	p := &Notice{place: fitting{}, since: time.Now().Add(-time.Minute)}
	var both sync.WaitGroup
	both.Go(func() {
		for i := range 1000 {
			p.Event("run", called(fmt.Sprint(i), shell, "ls"))
			p.due(time.Time{}, "")
			p.Event("run", returned(fmt.Sprint(i), shell))
		}
	})
	both.Go(func() {
		for range 1000 {
			if now := p.Now(); now.Elapsed < time.Minute || now.Step != "" && !strings.HasSuffix(now.Step, ": run_shell_command `ls`") {
				t.Errorf("%q after %s", now.Step, now.Elapsed)
			}
		}
	})
	both.Wait()
	if now := p.Now(); now.Step != "" || p.steps.Total() != 1000 {
		t.Errorf("%q of %d steps", now.Step, p.steps.Total())
	}
}

// panicking is a room in which no notice can be edited.
type panicking struct{ Place }

func (panicking) Fits(text string) bool { return fits(text) }

func (panicking) Type(context.Context, time.Duration) error { return nil }
func (panicking) Edit(context.Context, string) (ok bool)    { panic("secret words") }

// A panic while showing what the agent does ends neither the process nor the task.
func TestPanicOfProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time is its own: nothing really waits
		var log strings.Builder
		p := &Notice{place: panicking{}, log: zerolog.New(&log), room: "!r", since: time.Now(), life: t.Context(), posted: true, done: make(chan struct{})}
		p.ctx, p.end = context.WithCancel(t.Context())
		go p.run()
		for range 3 * maxPanics {
			p.Set(time.Now().String())
			time.Sleep(editEvery)
		}
		p.Stop()
		if log := log.String(); strings.Count(log, "panic while showing progress") != maxPanics || strings.Contains(log, "secret words") {
			t.Errorf("log: %s", log)
		}
	})
}

// slow is a room whose homeserver takes 1.5 s for each edit.
type slow struct {
	Place
	ended time.Time     // the last edit
	least time.Duration // between the end of an edit and the next one
}

func (*slow) Fits(text string) bool { return fits(text) }

func (*slow) Type(context.Context, time.Duration) error { return nil }

func (r *slow) Edit(context.Context, string) (ok bool) {
	if !r.ended.IsZero() {
		r.least = min(r.least, time.Since(r.ended))
	}
	time.Sleep(editEvery * 3 / 4)
	r.ended = time.Now()
	return true
}

// A slow homeserver, too, has a pause between two edits.
func TestPauseBetweenEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := &slow{least: time.Hour}
		p := &Notice{place: room, since: time.Now(), life: t.Context(), posted: true, done: make(chan struct{})}
		p.ctx, p.end = context.WithCancel(t.Context())
		go p.run()
		for range 20 {
			p.Set(time.Now().String())
			time.Sleep(editEvery / 2)
		}
		p.Stop()
		if room.least < editEvery || room.least > editEvery+typingPause {
			t.Errorf("the pause was %v, want %v", room.least, editEvery)
		}
	})
}

// quick is a room that counts what a task shows there.
type quick struct {
	Place
	queued []string
	typing []time.Duration
}

func (*quick) Fits(text string) bool { return fits(text) }

func (r *quick) Post(_ context.Context, text string, begins bool) error {
	if begins {
		r.queued = append(r.queued, eyes)
	}
	r.queued = append(r.queued, text)
	return nil
}

func (r *quick) Type(_ context.Context, d time.Duration) error {
	r.typing = append(r.typing, d)
	return nil
}

func (*quick) Edit(context.Context, string) bool { return true }

// A task that ends soon has neither a reaction nor a notice. Typing shows at once, again after a message of ours has hidden
// it, and as long as the task runs.
func TestLateNotice(t *testing.T) {
	for after, shown := range map[time.Duration]int{noticeAfter - time.Millisecond: 0, noticeAfter + 3*time.Second: 2, time.Hour: 2} {
		synctest.Test(t, func(t *testing.T) {
			room := &quick{}
			p := &Notice{place: room, since: time.Now(), life: t.Context(), done: make(chan struct{})}
			p.ctx, p.end = context.WithCancel(t.Context())
			go p.run()
			time.Sleep(after)
			p.Stop()
			if len(room.queued) != shown || shown > 0 && (room.queued[0] != eyes || !strings.HasPrefix(room.queued[1], "⏳ Working on it · 2 s")) {
				t.Errorf("after %v: %q", after, room.queued)
			}
			want := []time.Duration{typingTime, 0, typingTime}[:1+shown]
			if len(room.typing) < len(want) || !slices.Equal(room.typing[:len(want)], want) {
				t.Errorf("after %v: typing %v", after, room.typing)
			}
			if least := int(after / typingTime); len(room.typing) < least {
				t.Errorf("after %v: typing was shown %d times, want %d", after, len(room.typing), least)
			}
		})
	}
}
