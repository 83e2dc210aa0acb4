package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

const (
	// readTime bounds how long a task waits for what is known before it starts.
	readTime = 2 * time.Second
	// writeTime bounds how long a finished task holds up the next one.
	writeTime = 20 * time.Second
)

// Memory is what all rooms have learned. A nil Memory learns and finds nothing. Its
// methods are safe for concurrent use.
type Memory struct {
	dir    string // the state directory
	store  *state.Store
	filter *Filter
	log    zerolog.Logger

	embedder *embedder // nil: searches use words alone

	filesTime, readFilesTime time.Duration // the constants, but in tests

	mu    sync.Mutex
	rooms map[string]*roomFiles
}

// New returns the memory in a state directory. The secrets never get into it.
func New(dir string, store *state.Store, log zerolog.Logger, secrets ...string) *Memory {
	return &Memory{dir: dir, store: store, filter: NewFilter(secrets...), log: log, rooms: map[string]*roomFiles{}, filesTime: filesTime, readFilesTime: readFilesTime}
}

// with opens the index of a room for one use. An index that is new, or was damaged, is
// filled with what the transcripts and state.json still have.
func (m *Memory) with(ctx context.Context, room string, do func(*memory.Index) error) (err error) {
	x, err := memory.Open(ctx, m.dir, room)
	if err != nil {
		return err
	}
	defer func() {
		if closed := x.Close(); err == nil {
			err = closed
		}
	}()
	if s := x.Salvaged(); s != nil {
		m.log.Error().Str("room", room).Str("damaged", s.From).Int("saved", s.Entries).Int("lost_pages", s.Lost).Msg("the memory of a room was damaged and is built again")
	}
	if x.Unfilled() {
		if err := m.refill(ctx, x); err != nil {
			return fmt.Errorf("fill memory: %w", err)
		}
		if err := x.Filled(ctx); err != nil {
			return err
		}
		m.files(room).stale.Store(true)
	}
	m.catchUp(ctx, x)
	m.editPostponed(ctx, x)
	return do(x)
}

// Clean returns a text without secrets: those that the bot knows, and what looks like one.
func (m *Memory) Clean(text string) string { return m.filter.Clean(text) }

// Conceal returns a text of a task as it may be written to a file: without the secrets that the bot knows or that people
// gave as answers. A nil Memory does it, too.
func (m *Memory) Conceal(text string, answers []Answer) string {
	filter := &Filter{}
	if m != nil {
		filter = m.filter
	}
	return filter.Clean(clean.Cut(text, maxSaid), secretsIn(answers)...)
}

// ConcealOutcome is Conceal for a text that may repeat what a page or a file says: it returns "" for one that reads like
// planted instructions.
func (m *Memory) ConcealOutcome(text string, answers []Answer) string {
	if Instructs(clean.Cut(text, maxSaid)) {
		return ""
	}
	return m.Conceal(text, answers)
}

// Learn stores what was observed in a task. It may be repeated. After an error it is
// repeated when the index is used next.
func (m *Memory) Learn(ctx context.Context, t Task) error {
	if m == nil {
		return nil
	}
	defer m.embedSoon(t.Room)
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	m.files(t.Room).later.expect(t.ID)
	return m.apply(ctx, t.Room, func(ctx context.Context, x *memory.Index) error {
		f := m.files(t.Room)
		f.learning.Lock()
		defer f.learning.Unlock()
		t, replaced, edits, err := t.edited(ctx)
		if err != nil {
			return err
		}
		for _, one := range edits { // if it is learned once more, as after a crash
			if err := m.amend(ctx, x, one); err != nil {
				return err
			}
		}
		l := m.filter.observe(t)
		wrong, err := m.correct(ctx, x, t, &l)
		if err != nil {
			return err
		}
		if err := m.welcome(ctx, x, t, l); err != nil {
			return err
		}
		if _, err := x.Learn(ctx, l.docs, l.lines); err != nil {
			return err
		}
		for i, text := range replaced {
			replaced[i] = m.filter.keep(text)
		}
		if err := x.Replaced(ctx, replaced...); err != nil {
			return err
		}
		if wrong != "" {
			if _, err := x.Forget(ctx, wrong); err != nil {
				return err
			}
		}
		if err := x.KeepNewest(ctx, contextFile, maxPrior); err != nil {
			return err
		}
		var known []string // to the session: it was there
		for _, doc := range l.docs {
			known = append(known, doc.Path)
		}
		for _, line := range l.lines {
			known = append(known, lineKey(line.Text))
		}
		return x.Give(ctx, t.Session, known)
	})
}

// welcome lets a task teach what was forgotten before people said it again. A task that is learned once more, as after a
// crash, teaches nothing that was forgotten since then.
func (m *Memory) welcome(ctx context.Context, x *memory.Index, t Task, l learned) error {
	known, err := x.Has(ctx, memory.SourceExecution, executionPath(t.ID))
	if err != nil || known {
		return err
	}
	docs := slices.DeleteFunc(slices.Clone(l.docs), func(doc memory.Document) bool {
		return doc.Source != memory.SourceAnswer && doc.Source != memory.SourceNote
	})
	return x.Welcome(ctx, docs, l.lines)
}

// Redact removes what a message said from the memory of a room, also if its task has not been learned yet. A failure is
// logged, and the index redacts the message when it is opened next, also by another process.
func (m *Memory) Redact(ctx context.Context, room, event string) {
	if m == nil || !m.knows(room) && m.store.Container(room) == "" {
		return
	}
	defer m.afterSync(room)()
	limited, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	err := m.with(limited, room, func(x *memory.Index) error {
		_, err := x.Redact(limited, event)
		return err
	})
	if err != nil {
		err = errors.Join(err, memory.Postpone(ctx, m.dir, room, event))
	}
	m.warn(ctx, room, "cannot remove a redacted message from the memory of a room yet", err)
}

// afterSync waits for a Sync of the room, which would write lines to the files that are removed meanwhile. The caller
// calls the result when it has changed the index.
func (m *Memory) afterSync(room string) (done func()) {
	f := m.files(room)
	f.mu.Lock()
	return f.mu.Unlock
}

// warn logs an error, unless the bot is stopping.
func (m *Memory) warn(ctx context.Context, room, what string, err error) {
	if err != nil && ctx.Err() == nil {
		m.log.Error().Err(err).Str("room", room).Msg(what)
	}
}

// Move gives the memory of a room to its successor. It may be repeated.
func (m *Memory) Move(ctx context.Context, from, to string) error {
	if m == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	m.files(to).stale.Store(true)
	return memory.Move(ctx, m.dir, from, to)
}

// knows reports whether a room has a memory.
func (m *Memory) knows(room string) bool { return m != nil && memory.IsKnown(m.dir, room) }

// use uses the memory of a room for a limited time, if it has one.
func (m *Memory) use(ctx context.Context, room string, most time.Duration, do change) error {
	if !m.knows(room) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return m.with(ctx, room, func(x *memory.Index) error { return do(ctx, x) })
}

func (m *Memory) files(room string) *roomFiles {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.rooms[room]
	if f == nil {
		f = &roomFiles{}
		m.rooms[room] = f
	}
	return f
}
