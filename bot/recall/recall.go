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
	"matrix-tui/state/keyed"
	"matrix-tui/state/memory"
)

const (
	// readTime bounds how long a task waits for what is known before it starts.
	readTime = 2 * time.Second
	// writeTime bounds how long a finished task holds up the next one.
	writeTime = 20 * time.Second
	// fillTime bounds how long it takes to build an index: the filter reads some 200 KB in a second.
	fillTime = 5 * time.Minute
	// maxWaiting is how many rooms wait for Work. The others do it when they need their memory.
	maxWaiting = 1000
)

// Memory is what all rooms remember. A nil Memory learns and finds nothing. Its methods are safe for concurrent use.
type Memory struct{ *indexes }

// indexes keeps the index of each room in line with the record.
type indexes struct {
	dir     string // the state directory
	store   *state.Store
	journal *state.Journal
	filter  *Filter
	log     zerolog.Logger

	embedder *embedder // nil: searches use words alone

	wake    chan struct{}
	mu      sync.Mutex
	rooms   map[string]*room
	waiting []string // rooms that Work looks at
	filling keyed.Locks
}

// room is what this process knows of a room.
type room struct {
	mu      sync.Mutex
	changes int        // how often the index has come to lack something; 1 at the start
	checked int        // the changes with which it was filled last
	speech  Speech     // of the task that runs
	syncing sync.Mutex // held by Sync
}

// New returns the memory in a state directory. The secrets never get into it.
func New(dir string, store *state.Store, journal *state.Journal, log zerolog.Logger, secrets ...string) *Memory {
	return &Memory{&indexes{dir: dir, store: store, journal: journal, filter: NewFilter(secrets...), log: log,
		rooms: map[string]*room{}, wake: make(chan struct{}, 1)}}
}

func (m *indexes) room(id string) *room {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rooms[id]
	if r == nil {
		r = &room{changes: 1}
		m.rooms[id] = r
	}
	return r
}

// with uses the index of a room, and fills one that is new or that lacks something before. If the record changes
// meanwhile, it does so again.
func (m *indexes) with(ctx context.Context, id string, do func(*memory.Index) error) (err error) {
	for range 5 {
		err = m.once(ctx, id, do)
		if !errors.Is(err, memory.ErrDoubt) {
			break
		}
	}
	return err
}

func (m *indexes) once(ctx context.Context, id string, do func(*memory.Index) error) (err error) {
	r := m.room(id)
	if _, lacks := r.lacks(); lacks {
		unlock, err := m.filling.Lock(ctx, id)
		if err != nil {
			return fmt.Errorf("wait for the index of a room: %w", err)
		}
		defer unlock()
	}
	x, err := memory.Open(ctx, m.dir, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if changes, lacks := r.lacks(); lacks || x.Unfilled() {
		if err := m.Fill(ctx, x); err != nil {
			return err
		}
		r.filled(changes)
	}
	return do(x)
}

// lacks reports whether the index may lack something, and what to tell filled when it does not any more.
func (r *room) lacks() (changes int, lacks bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes, r.checked != r.changes
}

func (r *room) filled(changes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked = changes
}

func (r *room) change() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
}

// update changes the index of a room after its record. What it does not take now comes with the next use.
func (m *indexes) update(ctx context.Context, id string, do func(*memory.Index) error) error {
	err := m.with(ctx, id, do)
	if err != nil {
		m.room(id).change()
		m.soon(id)
	}
	return err
}

// use uses the memory of a room for a limited time, if it has one.
func (m *indexes) use(ctx context.Context, id string, most time.Duration,
	do func(context.Context, *memory.Index) error) error {
	if !m.knows(id) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return m.with(ctx, id, func(x *memory.Index) error { return do(ctx, x) })
}

// knows reports whether a room may have a memory: the index may be gone, but not the record.
func (m *indexes) knows(id string) bool {
	ctx := context.Background()
	if memory.Exists(m.dir, id) || m.store.Conversations.Any(id) || m.journal.Memory.Remembers(ctx, id) {
		return true
	}
	at, err := m.journal.Tasks.LastActive(ctx, id)
	return err == nil && !at.IsZero()
}

// Learn stores what was observed in a task. It may be repeated. What the index does not take now comes with the next
// use.
func (m *Memory) Learn(ctx context.Context, t Task) error {
	if m == nil {
		return nil
	}
	defer m.embedSoon(t.Room)
	l := m.filter.observe(t)
	m.welcome(ctx, t)
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	added, err := m.journal.Memory.AddNotes(ctx, l.notes...)
	if err != nil {
		return err
	}
	return m.update(ctx, t.Room, func(x *memory.Index) error {
		if err := m.put(ctx, x, append(slices.Clone(l.docs), documents(added)...)...); err != nil {
			return err
		}
		var known []string // to the session, which was there
		for _, doc := range append(l.docs, documents(l.notes)...) {
			known = append(known, doc.Path)
		}
		return x.Give(ctx, t.Session, known...)
	})
}

// welcome lets the room know again what people have said again. A task that is learned once more, as after a crash, is
// left alone: something may have been forgotten since.
func (m *Memory) welcome(stopping context.Context, t Task) {
	ctx, cancel := context.WithTimeout(stopping, writeTime)
	defer cancel()
	err := m.with(ctx, t.Room, func(x *memory.Index) error {
		known, err := x.Has(ctx, executionPath(t.ID))
		if err == nil && !known {
			err = m.journal.Memory.Welcome(ctx, t.Room, said(t)...)
		}
		return err
	})
	m.warn(stopping, t.Room, "cannot look up a task in the memory of a room", err)
}

// said is what people have said in a task.
func said(t Task) (texts []string) {
	for _, one := range t.Said {
		texts = append(texts, one.Text)
	}
	for _, a := range t.Answers {
		texts = append(texts, a.Answer)
	}
	return texts
}

// Conceal returns a text of a task as it may be written to a file: without the secrets that the bot knows or that
// people gave as answers. A nil Memory does it, too.
func (m *Memory) Conceal(text string, answers []Answer) string {
	filter := &Filter{}
	if m != nil {
		filter = m.filter
	}
	return filter.Clean(clean.Cut(text, maxSaid), secretsIn(answers)...)
}

// ConcealOutcome is Conceal for a text that may repeat what a page or a file says: it returns "" for one that reads
// like planted instructions.
func (m *Memory) ConcealOutcome(text string, answers []Answer) string {
	if Instructs(clean.Cut(text, maxSaid)) {
		return ""
	}
	return m.Conceal(text, answers)
}

// warn logs an error, unless the bot is stopping.
func (m *indexes) warn(ctx context.Context, room, what string, err error) {
	if err != nil && ctx.Err() == nil {
		m.log.Error().Err(err).Str("room", room).Msg(what)
	}
}

// Move removes the index of a room whose record moves to its successor, of which the index follows the record. Call it
// before and after that.
func (m *Memory) Move(ctx context.Context, from, to string) error {
	if m == nil {
		return nil
	}
	m.room(from).change()
	return errors.Join(m.Settle(ctx, to), memory.Remove(m.dir, from))
}

// Doubt says that the record is about to change: a crash after the change leaves nothing in the index that is gone.
// Settle follows.
func (m *Memory) Doubt(ctx context.Context, id string) error {
	if m == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	x, err := memory.Open(ctx, m.dir, id)
	if err != nil {
		return err
	}
	m.room(id).change()
	return errors.Join(x.Doubt(ctx), x.Close())
}

// Settle says that the record has changed. The index follows it before its next use, or when Work comes to it.
func (m *Memory) Settle(ctx context.Context, id string) error {
	if m == nil {
		return nil
	}
	defer m.soon(id)
	return m.Doubt(ctx, id)
}
