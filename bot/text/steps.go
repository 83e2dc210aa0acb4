package text

import (
	"slices"
	"strings"
	"time"
)

const (
	// keptSteps is how many steps are kept, and shownSteps how many of them the notice shows.
	keptSteps, shownSteps = 20, 10
	// detailSize, purposeSize and faultSize bound a step's argument, its purpose and its error, noteSize a note, draftSize
	// the shown end of an answer that is being written, in bytes.
	detailSize, purposeSize, faultSize, noteSize, draftSize = 200, 120, 80, 200, 1000
	// longStep is how long a step runs before the notice says so.
	longStep = 10 * time.Second
)

// stepState is the state of a step.
type stepState int

const (
	stepRunning stepState = iota
	stepDone
	stepFailed
	stepOver // its end is unknown
)

// step is one tool call. Its text is safe to show; see [OneLine].
type step struct {
	number                       int
	id                           string
	tool, purpose, detail, fault string
	began                        time.Duration // since the task began
	state                        stepState
}

// Steps is the progress of a run: its newest steps, and their total number. The zero value is a run without steps.
type Steps struct {
	run    string // the run of these steps; "" before one has started
	first  string // ID of its first call
	newest []step
	total  int
	failed int
	draft  string // what the assistant is saying
}

// Begin says which run is active. If another run was active before, its steps are dropped, as a restart of the bot
// would do. Steps of the bot itself before the run are finished.
func (l *Steps) Begin(run string) {
	switch l.run {
	case run:
	case "":
		l.run = run
		for i := range l.newest {
			if l.newest[i].state == stepRunning {
				l.newest[i].state = stepOver
			}
		}
	default:
		*l = Steps{run: run}
	}
}

// Call adds a step that began after the task had run for a time. Without a purpose, what the assistant has just said is
// its purpose. If the ID is that of the run's first call, the run is being read from its beginning again.
func (l *Steps) Call(id, tool, purpose, detail string, began time.Duration) {
	if id != "" && id == l.first {
		*l = Steps{run: l.run}
	}
	if l.first == "" && l.run != "" {
		l.first = id
	}
	if id != "" && slices.ContainsFunc(l.newest, func(s step) bool { return s.id == id && s.state == stepRunning }) {
		return // reported twice
	}
	if len(l.newest) == keptSteps {
		l.newest = append(l.newest[:0], l.newest[1:]...)
	}
	l.total++
	if purpose = OneLine(purpose, purposeSize); purpose == "" {
		said := strings.TrimSpace(l.draft)
		purpose = OneLine(said[strings.LastIndex(said, "\n")+1:], purposeSize)
	}
	l.draft = ""
	l.newest = append(l.newest, step{
		number: l.total, id: id, tool: OneLine(tool, 64), purpose: purpose, detail: OneLine(detail, detailSize), began: began,
	})
}

// Say shows what the assistant has said since the last step, or the end of it.
func (l *Steps) Say(draft string) { l.draft = draft }

// Result ends a step, with an error if it failed, and reports whether anything changed.
func (l *Steps) Result(id, tool, fault string, failed bool) bool {
	at := slices.IndexFunc(l.newest, func(s step) bool { return s.id == id && s.state == stepRunning })
	lost := at < 0 && tool != "" // of a step that is no longer kept
	if failed && (at >= 0 || lost) {
		l.failed++
	}
	if at < 0 {
		return false
	}
	l.newest[at].state = stepDone
	if failed {
		l.newest[at].state, l.newest[at].fault = stepFailed, OneLine(fault, faultSize)
	}
	return true
}

// Now returns the newest running step, as in the notice but without its icon; "" if there is none.
func (l *Steps) Now() string {
	for _, s := range slices.Backward(l.newest) {
		if s.state == stepRunning {
			return s.title(detailSize)
		}
	}
	return ""
}

// Total returns the number of steps.
func (l *Steps) Total() int { return l.total }

// Failed returns how many of them failed.
func (l *Steps) Failed() int { return l.failed }

// Clone returns a copy that no longer changes.
func (l *Steps) Clone() Steps {
	c := *l
	c.newest = slices.Clone(l.newest)
	return c
}
