package task

import (
	"context"
	"fmt"
	"matrix-tui/bot/container"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/state"
)

func called(id, tool, detail string) agent.Event {
	return agent.Event{Kind: agent.EventTool, ID: id, Tool: tool, Detail: detail}
}

func returned(id, tool string) agent.Event {
	return agent.Event{Kind: agent.EventToolResult, ID: id, Tool: tool, Detail: "output"}
}

// short reports whether a text fits into an edit of a notice.
func short(text string) bool { return len(text) < 4<<10 }

const shell = "run_shell_command"

// The notice ends with what the task took; a step that failed and a stop show.
func TestHeading(t *testing.T) {
	out := agent.Outcome{Ended: agent.Completed, Usage: agent.Usage{Total: 1234}, Tools: map[string]int{shell: 3}}
	crashed, stopped := out, out
	crashed.Ended, stopped.Ended = agent.Crashed, agent.Stopped
	for _, c := range []struct {
		name   string
		failed int
		out    agent.Outcome
		want   string
	}{
		{"none failed", 0, out, "✓ 3 steps · 5 s · 1,234 tokens"},
		{"one failed", 1, out, "⚠️ 3 steps, 1 failed · 5 s · 1,234 tokens"},
		{"it ended early", 2, crashed, "✗ 3 steps, 2 failed · 5 s · 1,234 tokens"},
		{"somebody stopped it", 0, stopped, "⏹ Stopped · 3 steps · 5 s · 1,234 tokens"},
		{"somebody stopped it before it began", 0, agent.Outcome{Ended: agent.Stopped}, "⏹ Stopped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := ending{(&Env{}).Task(state.Task{Begun: time.Now().Add(-5500 * time.Millisecond)}), c.out, ""}
			if c.out.Ended == agent.Stopped {
				e.t.rec.StopBy = "@ann:x"
			}
			if diff := cmp.Diff(c.want, e.heading(c.failed)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The time of an approved command during which somebody stopped the task counts, too.
func TestHeadingApproved(t *testing.T) {
	rec := state.Task{Begun: time.Now().Add(-5500 * time.Millisecond), StopBy: "@ann:x"}
	rec.Used, rec.Approved = state.Usage{Steps: 1, Time: 2 * time.Second}, &state.Command{Over: true, Failed: true}
	e := ending{(&Env{}).Task(rec), agent.Outcome{Ended: agent.Stopped}, ""}
	if got, want := e.heading(1), "⏹ Stopped · 1 step, 1 failed · 7 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The notice is edited after a change, and at intervals to show the elapsed time.
func TestProgressDue(t *testing.T) {
	p := &progress{since: time.Now(), fits: short}
	fresh, old := time.Now(), time.Now().Add(-idleEvery)
	due := func(what string, edited time.Time, want bool) {
		t.Helper()
		if text, got := p.due(edited, ""); got != want || got != strings.HasPrefix(text, "⏳ Working on it · ") {
			t.Errorf("%s: %v, %q", what, got, text)
		}
	}
	due("nothing new", fresh, false)
	due("only the time has changed", old, true)
	p.event("run", called("a", shell, "ls"))
	due("a step", fresh, true)
	due("already shown", fresh, false)
	p.event("run", returned("a", shell))
	due("its result", fresh, true)
	p.event("run", returned("a", ""))
	due("its result again", fresh, false)
	p.event("run", called("b", shell, "make"))
	p.set("no output for 6 min")
	if text, _ := p.due(fresh, ""); !strings.Contains(text, "no output for 6 min") {
		t.Errorf("a silent command: %q", text)
	}
	p.event("run", returned("b", shell))
	if text, _ := p.due(fresh, ""); strings.Contains(text, "no output") {
		t.Errorf("after its result: %q", text)
	}
	p.set("slow")
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
	p := &progress{since: time.Now(), fits: short}
	say := func(edited time.Time) bool {
		p.event("run", agent.Event{Kind: agent.EventText, Text: "So far"})
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
	p.set("slow")
	if !say(time.Now().Add(-draftEvery)) || p.note != "" {
		t.Error("the note stays while text arrives")
	}
	p.event("run", called("a", shell, "ls"))
	if text, due := p.due(time.Now(), ""); !due || strings.Contains(text, "> So far") {
		t.Errorf("%v, %q", due, text)
	}
}

// now may be called while the run reports events.
func TestProgressNowWhileRunning(t *testing.T) {
	p := &progress{since: time.Now().Add(-time.Minute), fits: short}
	var both sync.WaitGroup
	both.Go(func() {
		for i := range 1000 {
			p.event("run", called(fmt.Sprint(i), shell, "ls"))
			p.due(time.Time{}, "")
			p.event("run", returned(fmt.Sprint(i), shell))
		}
	})
	both.Go(func() {
		for range 1000 {
			if now := p.now(); now.Elapsed < time.Minute || now.Step != "" && !strings.HasSuffix(now.Step, ": run_shell_command `ls`") {
				t.Errorf("%q after %s", now.Step, now.Elapsed)
			}
		}
	})
	both.Wait()
	if now := p.now(); now.Step != "" || p.steps.Total() != 1000 {
		t.Errorf("%q of %d steps", now.Step, p.steps.Total())
	}
}

// panicking is a room in which no notice can be edited.
type panicking struct{ Room }

func (panicking) Type(context.Context, time.Duration) error      { return nil }
func (panicking) Edit(context.Context, string, string) (ok bool) { panic("secret words") }

// A panic while showing what the agent does ends neither the process nor the task.
func TestPanicOfProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time is its own: nothing really waits
		var log strings.Builder
		p := &progress{env: &Env{Deps: &Deps{Shared: container.Shared{Log: zerolog.New(&log)}}, Room: panicking{}, ID: "!r"}, since: time.Now(), fits: short, life: t.Context(), posted: true, done: make(chan struct{})}
		p.ctx, p.end = context.WithCancel(t.Context())
		go p.run()
		for range 3 * maxPanics {
			p.set(time.Now().String())
			time.Sleep(editEvery)
		}
		p.stop()
		if log := log.String(); strings.Count(log, "panic while showing progress") != maxPanics || strings.Contains(log, "secret words") {
			t.Errorf("log: %s", log)
		}
	})
}

// slow is a room whose homeserver takes 1.5 s for each edit.
type slow struct {
	Room
	ended time.Time     // the last edit
	least time.Duration // between the end of an edit and the next one
}

func (*slow) Type(context.Context, time.Duration) error { return nil }

func (r *slow) Edit(context.Context, string, string) (ok bool) {
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
		p := &progress{env: &Env{Deps: &Deps{}, Room: room}, since: time.Now(), fits: short, life: t.Context(), posted: true, done: make(chan struct{})}
		p.ctx, p.end = context.WithCancel(t.Context())
		go p.run()
		for range 20 {
			p.set(time.Now().String())
			time.Sleep(editEvery / 2)
		}
		p.stop()
		if room.least < editEvery || room.least > editEvery+typingPause {
			t.Errorf("the pause was %v, want %v", room.least, editEvery)
		}
	})
}

// quick is a room that counts what a task shows there.
type quick struct {
	Room
	queued []string
	typing []time.Duration
}

func (r *quick) Queue(_ context.Context, out ...Message) error {
	for _, m := range out {
		r.queued = append(r.queued, m.Body)
	}
	return nil
}

func (r *quick) Type(_ context.Context, d time.Duration) error {
	r.typing = append(r.typing, d)
	return nil
}

func (*quick) Edit(context.Context, string, string) bool { return true }

// A task that ends soon has neither a reaction nor a notice. Typing shows at once, again after a message of ours has hidden
// it, and as long as the task runs.
func TestLateNotice(t *testing.T) {
	for after, shown := range map[time.Duration]int{noticeAfter - time.Millisecond: 0, noticeAfter + 3*time.Second: 2, time.Hour: 2} {
		synctest.Test(t, func(t *testing.T) {
			room := &quick{}
			p := &progress{env: &Env{Deps: &Deps{}, Room: room}, started: []Message{{Message: state.Message{Body: eyesKey}}}, since: time.Now(), fits: short, life: t.Context(), done: make(chan struct{})}
			p.ctx, p.end = context.WithCancel(t.Context())
			go p.run()
			time.Sleep(after)
			p.stop()
			if len(room.queued) != shown || shown > 0 && (room.queued[0] != eyesKey || !strings.HasPrefix(room.queued[1], "⏳ Working on it · 2 s")) {
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
