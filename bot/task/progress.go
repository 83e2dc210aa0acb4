package task

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
)

const (
	editEvery  = 2 * time.Second  // minimum time between edits of the notice
	idleEvery  = 10 * time.Second // if only the elapsed time has changed
	lateEvery  = 30 * time.Second // the same, after the first minute
	draftEvery = 5 * time.Second  // if only the answer has become longer, after freeDrafts edits: homeservers limit them
	freeDrafts = 5
	typingTime = 20 * time.Second // the typing indicator is renewed before this
)

// progress keeps the notice of a running task and the typing indicator up to date. Its
// goroutine ends with stop.
type progress struct {
	env     *Env
	started []Message // sent when the task starts
	fits    func(string) bool
	life    context.Context // cancelled when the bot stops
	txn     string          // of the notice
	since   time.Time
	ctx     context.Context
	end     context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	steps   text.Steps
	note    string // about something unusual, or ""
	waits   string // what it waits for before it starts, or "": no typing, and no edits but about that
	changed bool
	said    bool // the answer has become longer
	drafts  int  // edits that showed nothing else
}

// Progress describes a task that a worker is processing.
type Progress struct {
	Queued  string        // what it waits for before it starts, such as "waiting for disk space", or ""
	Step    string        // running step in Markdown ("step 3: run_shell_command `ls`"), or ""
	Elapsed time.Duration // since the task began
}

// What a task waits for before it starts.
const (
	turnNote = "waiting for other rooms' tasks"
	diskNote = "waiting for disk space on the host"
)

func queuedText(note string) string { return "⏳ Queued: " + note + " …" }

// showProgress queues the notice and keeps it up to date until stop. If the task waits for
// something, it does not edit the notice before resume, unless it waits for something
// else: hundreds of queued rooms would overload the homeserver.
func showProgress(ctx, life context.Context, t *Task, waits string) (*progress, error) {
	since := t.rec.Begun
	if since.IsZero() {
		since = time.Now()
	}
	p := &progress{
		env: t.env, started: t.Voice().started(), fits: t.env.Room.Fits, life: life, txn: noticeTxn(t.rec.Key, len(t.exec.Answers)),
		since: since, waits: waits, changed: !t.rec.Due.At.IsZero(), done: make(chan struct{}),
	}
	text := "⏳ Working on it …"
	if waits != "" {
		text = queuedText(waits)
	}
	var said []Message
	if waits == "" {
		said = append(said, p.started...)
	}
	if err := t.env.Room.Queue(ctx, append(said, t.Voice().notice(text))...); err != nil {
		return nil, err
	}
	p.ctx, p.end = context.WithCancel(ctx)
	go p.run()
	return p, nil
}

// stop ends the edits. The messages of the result edit the notice once more.
func (p *progress) stop() {
	p.end()
	<-p.done
}

// tool shows a step that the bot itself performs before the run.
func (p *progress) tool(name, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps.Call(name, name, detail)
	p.note, p.changed = "", true
}

// event shows a tool call or its result.
func (p *progress) event(run string, e agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps.Begin(run)
	switch e.Kind {
	case agent.EventTool:
		p.steps.Call(e.ID, e.Tool, e.Detail)
		p.note, p.changed = "", true
	case agent.EventText:
		p.steps.Say(e.Text)
		p.note, p.said = "", true
	case agent.EventToolResult:
		p.changed = p.steps.Result(e.ID, e.Tool, e.Detail, e.Failed) || p.changed || p.note != ""
		p.note = ""
	}
}

// now returns the progress. It is safe for concurrent use.
func (p *progress) now() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Progress{p.waits, p.steps.Now(), time.Since(p.since)}
}

// failed returns the number of failed steps.
func (p *progress) failed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps.Failed()
}

// set shows a note in the notice; "" removes it.
func (p *progress) set(note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.note != note {
		p.note, p.changed = note, p.changed || p.waits == ""
	}
}

// wait shows what the task waits for before it starts.
func (p *progress) wait(note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits != note {
		p.waits, p.changed = note, true
	}
}

// resume shows that the task has got its slot.
func (p *progress) resume(ctx context.Context) error {
	p.mu.Lock()
	p.waits, p.changed = "", true
	p.mu.Unlock()
	return p.env.Room.Queue(ctx, p.started...)
}

// maxPanics is how often showing the progress of a task may end in a panic before the notice is left alone. The agent
// chooses what is shown, and must not be able to end the process with it.
const maxPanics = 2

func (p *progress) run() {
	defer close(p.done)
	for range maxPanics {
		if !p.show() {
			return
		}
	}
}

// show keeps the notice up to date until the task ends.
func (p *progress) show() (panicked bool) {
	defer func() {
		if recover() != nil {
			panicked = true
			p.env.Log.Error().Str("room", p.env.ID).Bytes("stack", debug.Stack()).Msg("panic while showing progress")
		}
	}()
	tick := time.NewTicker(editEvery)
	defer tick.Stop()
	typing := p.showTyping(p.ctx, time.Time{})
	edited := time.Now()
	for {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			p.sayRestarting()
			return false
		}
		typing = p.showTyping(p.ctx, typing)
		if text, due := p.due(edited); due {
			if p.edit(p.ctx, text) {
				edited = time.Now()
			} else {
				p.again()
			}
			tick.Reset(editEvery) // also after a slow edit
		}
	}
}

// showTyping renews the typing indicator before it expires, unless the task is queued.
func (p *progress) showTyping(ctx context.Context, last time.Time) time.Time {
	if p.now().Queued != "" || time.Since(last) < typingTime*2/3 {
		return last
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := p.env.Room.Type(ctx, typingTime); err != nil {
		p.env.Log.Debug().Err(err).Str("room", p.env.ID).Msg("cannot show the typing indicator")
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
	due := p.changed || p.waits == "" && time.Since(edited) >= every
	if p.said && !due && (p.drafts < freeDrafts || time.Since(edited) >= draftEvery) {
		due = true
		p.drafts++
	}
	steps, note, waits := p.steps.Clone(), p.note, p.waits
	if due {
		p.changed, p.said = false, false
	}
	p.mu.Unlock()
	if !due {
		return "", false
	}
	if waits != "" {
		return queuedText(waits), true
	}
	return steps.Progress(elapsed, note, p.fits), true
}

// again makes the next tick edit the notice, which is not in the room yet.
func (p *progress) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = true
}

// edit changes the notice and returns false if it is not in the room yet.
func (p *progress) edit(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return p.env.Room.Edit(ctx, p.txn, text)
}

// sayRestarting announces a restart in the notice if the bot is stopping.
func (p *progress) sayRestarting() {
	if p.life.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 5*time.Second)
	defer cancel()
	p.edit(ctx, "🔄 Restarting. The task keeps running, and I will be back in a moment.")
}
