package task

import (
	"context"
	"sync"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
)

// progress keeps the notice of a running task and the typing indicator up to date. Its
// goroutine ends with stop.
type progress struct {
	env     *Env
	started []Message // sent with the notice or, if the task was queued, when it starts
	notice  Message   // without its text
	posted  bool      // the notice is queued; only run uses this
	hidden  bool      // when run begins, clients hide the typing indicator, because the bot has just sent something
	fits    func(string) bool
	life    context.Context // cancelled when the bot stops
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

// showProgress shows that the task runs until stop: with the typing indicator at once, and with a reaction and a notice when
// it has run for noticeAfter. If it was queued, the reaction comes at once. If it waits for something, the notice comes at
// once, and is not edited before resume, unless it waits for something else: hundreds of queued rooms would overload the
// homeserver.
func showProgress(ctx, life context.Context, t *Task, waits string) (*progress, error) {
	since := t.rec.Begun
	if since.IsZero() {
		since = time.Now()
	}
	posted, err := t.noticed(ctx) // before a restart, or with an answer
	if err != nil {
		return nil, err
	}
	queued, err := t.said(ctx, t.Voice().Queued().Txn)
	if err != nil {
		return nil, err
	}
	p := &progress{
		env: t.env, started: t.Voice().started(), notice: t.Voice().notice(""), posted: posted, hidden: posted || queued,
		fits: t.env.Room.Fits, life: life, since: since, waits: waits, changed: !t.rec.Due.At.IsZero(), done: make(chan struct{}),
	}
	switch {
	case waits != "":
		err = p.post(ctx, queuedText(waits))
	case p.hidden: // otherwise the reaction comes with the notice
		err = t.env.Room.Queue(ctx, p.started...)
	}
	if err != nil {
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
	p.steps.Call(name, name, "", detail, time.Since(p.since))
	p.note, p.changed = "", true
}

// toolResult shows that such a step has ended, or how it failed.
func (p *progress) toolResult(name, fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = p.steps.Result(name, name, fault, fault != "") || p.changed
}

// event shows a tool call or its result.
func (p *progress) event(run string, e agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps.Begin(run)
	switch e.Kind {
	case agent.EventTool:
		p.steps.Call(e.ID, e.Tool, e.Purpose, e.Detail, time.Since(p.since))
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

// outcome returns the number of failed steps and, as Markdown, all steps. It may be called after stop, and without progress.
func (p *progress) outcome() (failed int, details string) {
	if p == nil {
		return 0, ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps.Failed(), p.steps.Details(p.fits)
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
