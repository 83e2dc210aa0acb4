// Package progress shows in a room how a task is getting on: with one notice that it edits, and with the typing
// indicator. It never says how a task ended.
package progress

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
)

// Place is where the progress of one task is shown. It is an interface because the task, which knows its messages, is
// above this package.
type Place interface {
	// Begin shows that the task runs.
	Begin(ctx context.Context) error
	// Post sends the notice; with begins, it is Begin as well.
	Post(ctx context.Context, text string, begins bool) error
	// Edit changes the notice immediately, without a retry. It returns false while the notice is not in the room.
	Edit(ctx context.Context, text string) bool
	// Fits reports whether a text is short enough for Edit.
	Fits(text string) bool
	// Type shows a typing indicator for d; 0 removes it.
	Type(ctx context.Context, d time.Duration) error
}

// Notice keeps the notice of a running task and the typing indicator up to date. Its goroutine ends with Stop.
type Notice struct {
	place  Place
	log    zerolog.Logger
	room   string          // for the log
	posted bool            // the notice is queued; only run uses this
	hidden bool            // when run begins, clients hide the typing indicator, because the bot has just sent something
	life   context.Context // cancelled when the bot stops
	since  time.Time
	ctx    context.Context
	end    context.CancelFunc
	done   chan struct{}

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
	Text    string        // what the notice says, in Markdown, without its bounds
	Elapsed time.Duration // since the task began
}

// What a task waits for before it starts.
const (
	TurnNote = "waiting for other rooms' tasks"
	DiskNote = "waiting for disk space on the host"
)

func queuedText(note string) string { return "⏳ Queued: " + note + " …" }

// State is what is known about a task when it begins, or goes on.
type State struct {
	Since  time.Time // when the task began
	Waits  string    // what it waits for, or ""
	Rested bool      // it has waited for the model
	Posted bool      // the notice is in the room
	Said   bool      // the bot has just sent something in the room, and so clients hide the typing indicator
}

// Show shows that a task runs until Stop: with the typing indicator at once, and with a reaction and a notice when it
// has run for noticeAfter. If it was queued, the reaction comes at once. If it waits for something, the notice comes
// at once, and is not edited before Resume, unless it waits for something else: hundreds of queued rooms would
// overload the homeserver. The bot cancels life when it stops.
func Show(ctx, life context.Context, place Place, is State, room string, log zerolog.Logger) (*Notice, error) {
	p := &Notice{
		place: place, log: log, room: room, posted: is.Posted, hidden: is.Posted || is.Said, life: life, since: is.Since,
		waits: is.Waits, changed: is.Rested, done: make(chan struct{}),
	}
	var err error
	switch {
	case is.Waits != "":
		err = p.post(ctx, queuedText(is.Waits))
	case p.hidden: // otherwise the reaction comes with the notice
		err = place.Begin(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.ctx, p.end = context.WithCancel(ctx)
	go p.run()
	return p, nil
}

// Stop ends the edits. The messages of the result edit the notice once more.
func (p *Notice) Stop() {
	p.end()
	<-p.done
}

// Tool shows a step that the bot itself performs before the run.
func (p *Notice) Tool(name, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps.Call(name, name, "", detail, time.Since(p.since))
	p.note, p.changed = "", true
}

// ToolResult shows that such a step has ended, or how it failed.
func (p *Notice) ToolResult(name, fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = p.steps.Result(name, name, fault, fault != "") || p.changed
}

// Event shows a tool call or its result.
func (p *Notice) Event(run string, e agent.Event) {
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

// Now returns the progress. It is safe for concurrent use.
func (p *Notice) Now() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := time.Since(p.since)
	said := queuedText(p.waits)
	if p.waits == "" {
		said = p.steps.Progress(elapsed, p.note, func(string) bool { return true })
	}
	return Progress{p.waits, p.steps.Now(), said, elapsed}
}

// Outcome returns the number of failed steps and, as Markdown, all steps. It may be called after stop, and without
// progress.
func (p *Notice) Outcome() (failed int, details string) {
	if p == nil {
		return 0, ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps.Failed(), p.steps.Details(p.place.Fits)
}

// Set shows a note in the notice; "" removes it.
func (p *Notice) Set(note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.note != note {
		p.note, p.changed = note, p.changed || p.waits == ""
	}
}

// Wait shows what the task waits for before it starts.
func (p *Notice) Wait(note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits != note {
		p.waits, p.changed = note, true
	}
}

// Resume shows that the task has got its slot.
func (p *Notice) Resume(ctx context.Context) error {
	p.mu.Lock()
	p.waits, p.changed = "", true
	p.mu.Unlock()
	return p.place.Begin(ctx)
}
