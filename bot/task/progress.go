package task

import (
	"context"
	"sync"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
)

const (
	editEvery  = 2 * time.Second  // at most so often is the notice edited
	idleEvery  = 10 * time.Second // and so often when only the time has changed
	lateEvery  = 30 * time.Second // and so often after a minute of that
	typingTime = 20 * time.Second // it is renewed before
)

// progress is the notice that a running task keeps up to date, and the typing
// sign beside it. Its goroutine ends with stop.
type progress struct {
	env   *Env
	begun []Message // shows that the task is worked on
	fits  func(string) bool
	life  context.Context // ends with the bot
	txn   string          // of the notice
	since time.Time
	ctx   context.Context
	end   context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	steps   text.Steps
	note    string // what is unusual, if anything
	waits   bool   // for its turn: nothing is renewed
	changed bool
}

// Progress is how far a task at work is.
type Progress struct {
	Queued  bool          // it waits for its turn
	Step    string        // that runs, in Markdown ("step 3: run_shell_command `ls`"); "" when none does
	Elapsed time.Duration // since it began
}

// TurnNote is what a task does that is not at work yet.
const TurnNote = "waiting for other rooms' tasks to finish"

// showProgress queues the notice and keeps it up to date until stop. While the
// task waits for its turn, until resume, that one message is all there is: with
// hundreds of rooms in line, more would keep the homeserver busy.
func showProgress(ctx, life context.Context, t *Task, waits bool) (*progress, error) {
	since := t.rec.Begun
	if since.IsZero() {
		since = time.Now()
	}
	p := &progress{
		env: t.env, begun: t.Voice().begun(), fits: t.env.Room.Fits, life: life, txn: noticeTxn(t.rec.Key, len(t.exec.Answers)),
		since: since, waits: waits, done: make(chan struct{}),
	}
	text := "⏳ Working on it …"
	if waits {
		text = "⏳ Queued: " + TurnNote + " …"
	}
	var said []Message
	if !waits {
		said = append(said, p.begun...)
	}
	if err := t.env.Room.Queue(ctx, append(said, t.Voice().notice(text))...); err != nil {
		return nil, err
	}
	p.ctx, p.end = context.WithCancel(ctx)
	go p.run()
	return p, nil
}

// stop ends the notice's edits; the last word on it is the answer's.
func (p *progress) stop() {
	p.end()
	<-p.done
}

// tool says what the bot itself does now, before the run begins.
func (p *progress) tool(name, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps.Call(name, name, detail)
	p.note, p.changed = "", true
}

// event takes what happens in a run.
func (p *progress) event(run string, e agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps.Begin(run)
	switch e.Kind {
	case agent.EventTool:
		p.steps.Call(e.ID, e.Tool, e.Detail)
		p.note, p.changed = "", true
	case agent.EventToolResult:
		p.changed = p.steps.Result(e.ID, e.Tool, e.Detail, e.Failed) || p.changed
	}
}

// now is how far the task is. It may be called at any time.
func (p *progress) now() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Progress{p.waits, p.steps.Now(), time.Since(p.since)}
}

// failed is how many steps have failed.
func (p *progress) failed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps.Failed()
}

// set says what is unusual; "" takes it back.
func (p *progress) set(note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.note != note {
		p.note, p.changed = note, true
	}
}

// resume shows that it is the task's turn.
func (p *progress) resume(ctx context.Context) error {
	p.mu.Lock()
	p.waits, p.changed = false, true
	p.mu.Unlock()
	return p.env.Room.Queue(ctx, p.begun...)
}

func (p *progress) run() {
	defer close(p.done)
	tick := time.NewTicker(editEvery)
	defer tick.Stop()
	typing := p.showTyping(p.ctx, time.Time{})
	edited := time.Now()
	for {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			p.sayRestarting()
			return
		}
		typing = p.showTyping(p.ctx, typing)
		if text, due := p.due(edited); due {
			if p.edit(p.ctx, text) {
				edited = time.Now()
			} else {
				p.again()
			}
		}
	}
}

// showTyping renews the typing sign when it is about to end, at work only.
func (p *progress) showTyping(ctx context.Context, last time.Time) time.Time {
	if p.now().Queued || time.Since(last) < typingTime*2/3 {
		return last
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := p.env.Room.Type(ctx, typingTime); err != nil {
		p.env.Log.Debug().Err(err).Str("room", p.env.ID).Msg("typing")
	}
	return time.Now()
}

// due returns the notice's text and whether it is time to show it.
func (p *progress) due(edited time.Time) (string, bool) {
	elapsed := time.Since(p.since)
	every := idleEvery
	if elapsed > time.Minute {
		every = lateEvery
	}
	p.mu.Lock()
	due := !p.waits && (p.changed || time.Since(edited) >= every)
	steps, note := p.steps.Clone(), p.note
	if due {
		p.changed = false
	}
	p.mu.Unlock()
	if !due {
		return "", false
	}
	return steps.Progress(elapsed, note, p.fits), true
}

// again has the notice shown at the next tick: it was not there yet.
func (p *progress) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = true
}

// edit shows text in the notice, if the notice is there yet.
func (p *progress) edit(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return p.env.Room.Edit(ctx, p.txn, text)
}

// farewell says so when it is the bot that goes down and not the task that
// ends.
func (p *progress) sayRestarting() {
	if p.life.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 5*time.Second)
	defer cancel()
	p.edit(ctx, "🔄 Restarting. The task keeps running, and I will be back in a moment.")
}
