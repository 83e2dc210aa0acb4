package recall

import (
	"context"
	"errors"
	"sync"

	"matrix-tui/state/memory"
)

// maxLater bounds the changes of a room that wait.
const maxLater = 50

// change is a change of a room's index that may be repeated.
type change func(ctx context.Context, x *memory.Index) error

// later are the changes of a room that its index did not take: another program had locked it, for example. They are
// made when it is used next. They do not survive a restart of the bot; then the tasks that state.json still has are
// learned again, without the calls of tools. Redactions and edits survive: see [memory.Postpone].
type later struct {
	mu      sync.Mutex
	waiting []change
	checked bool   // this process has looked for tasks that the index lacks
	ending  string // the task that is being learned: it is not missed
}

// keep lets changes wait, the first first.
func (l *later) keep(changes ...change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(changes, l.waiting...)
	l.waiting = l.waiting[max(0, len(l.waiting)-maxLater):]
}

// add lets a change wait, as the last one.
func (l *later) add(do change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, do)
	l.waiting = l.waiting[max(0, len(l.waiting)-maxLater):]
}

// take empties the list. It reports whether nobody has looked for missed tasks yet.
func (l *later) take() (waiting []change, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, first = l.waiting, !l.checked
	l.waiting, l.checked = nil, true
	return waiting, first
}

// expect says that a task is about to be learned.
func (l *later) expect(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = id
}

// expected returns the task that is about to be learned, or "".
func (l *later) expected() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ending
}

// behind reports whether changes wait.
func (l *later) behind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) > 0
}

// apply changes the index of a room, now or later.
func (m *Memory) apply(ctx context.Context, room string, do change) error {
	err := m.with(ctx, room, func(x *memory.Index) error { return do(ctx, x) })
	if err != nil {
		m.files(room).later.add(do)
	}
	return err
}

// catchUp makes the changes that wait, unless the index is locked: nobody waits for them. A change that fails for
// another reason is given up.
func (m *Memory) catchUp(ctx context.Context, x *memory.Index) {
	l := &m.files(x.Room()).later
	waiting, first := l.take()
	if first {
		missed, err := m.missed(ctx, x)
		m.warn(ctx, x.Room(), "cannot look for tasks that the memory of a room lacks", err)
		waiting = append(missed, waiting...)
	}
	for i, do := range waiting {
		if i == 0 && x.Busy(ctx) {
			l.keep(waiting...)
			return
		}
		switch err := do(ctx, x); {
		case errors.Is(err, memory.ErrLocked) || ctx.Err() != nil:
			l.keep(waiting[i:]...)
			return
		default:
			m.warn(ctx, x.Room(), "cannot make a change of the memory of a room", err)
		}
	}
}

// missed returns the finished tasks in state.json that the index lacks. The line in the daily log is not among what
// they teach: the task may be about to end, and then adds it.
func (m *Memory) missed(ctx context.Context, x *memory.Index) (out []change, err error) {
	for _, raw := range m.store.Executions(x.Room()) {
		e, ok := finished(raw)
		if !ok || e.ID == m.files(x.Room()).later.expected() {
			continue
		}
		known, err := x.Has(ctx, memory.SourceExecution, executionPath(e.ID))
		if err != nil {
			return nil, err
		}
		if known {
			continue
		}
		out = append(out, func(ctx context.Context, x *memory.Index) error {
			f := m.files(x.Room())
			f.learning.Lock()
			defer f.learning.Unlock()
			known, err := x.Has(ctx, memory.SourceExecution, executionPath(e.ID))
			if err != nil || known { // it has ended meanwhile, perhaps with an edit that state.json lacks
				return err
			}
			l := m.filter.observe(taskOf(e))
			_, err = x.Learn(ctx, l.docs, append(l.answerLines, l.wishLines...))
			return err
		})
	}
	return out, nil
}
