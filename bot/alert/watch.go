package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"github.com/rs/zerolog"

	"matrix-tui/bot/capacity"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/roster"
)

const (
	watchEvery = time.Minute
	readTime   = 20 * time.Second // of one check of the host
)

// Config is what a [Watch] needs.
type Config struct {
	StateDir string
	Room     string // where alerts go unless somebody changes it; "" for nowhere
	Owners   []string
	Account  *matrix.Account
	Roster   *roster.Roster // the owners' direct chats get notes and what stops every task if no room is set
	Storage  func(context.Context) (path string, err error)
	Reserve  uint64 // free bytes of disk without which no task starts
	// Limited returns how many consecutive requests the model's server has refused, and how long it will.
	Limited func() (int, time.Duration)
	Log     zerolog.Logger
}

// Watch checks the host, and keeps in alerts.json where alerts go.
type Watch struct {
	Config
	wake chan struct{}

	mu      sync.Mutex      // locked for a whole look, so that nothing is reported twice
	kept    *alerts         // nil before the first use
	refused matrix.Refusals // by room
}

// New returns a watch, which does nothing before [Watch.Run].
func New(c Config) *Watch { return &Watch{Config: c, wake: make(chan struct{}, 1)} }

// Run checks the host once a minute, and when Wake is called, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for again := time.NewTicker(watchEvery); ; {
		w.look(ctx, func(room, text string, short bool) (taken, refused bool) { return w.send(ctx, room, text, short) })
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		case <-w.wake:
		}
	}
}

// Wake lets Run check the host now.
func (w *Watch) Wake() {
	select {
	case w.wake <- struct{}{}:
	default: // it will anyway
	}
}

// look sends the notes, checks the host, and sends what is new to a room; short reports whether anything is low, or
// this is a note. Without a room, the owners' direct chats are told of what stops every task, and of nothing else. If
// send fails, the next look tries again, unless the room refuses what is sent to it.
func (w *Watch) look(ctx context.Context, send func(room, text string, short bool) (taken, refused bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sendNotes(send)
	a := w.load()
	room, direct := w.room(a), w.Roster.Direct.Rooms(w.Owners)
	if a.Off || room == "" && len(direct) == 0 {
		return
	}
	readings := w.read(ctx)
	if room == "" {
		readings = slices.DeleteFunc(readings, func(r reading) bool { return r.low && !r.stops })
	}
	short, over, next := a.decide(time.Now(), readings)
	if len(short)+len(over) == 0 {
		return
	}
	if !slices.ContainsFunc(short, func(r reading) bool { return r.stops }) && room != "" {
		direct = nil
	}
	if taken, refused := deliver(room, direct, alertText(short, over), len(short) > 0,
		send); !taken && !refused {
		return
	}
	if err := w.keep(next); err != nil {
		w.Log.Warn().Err(err).Msg("cannot store alerts")
	}
}

// deliver sends a text to a room, and to the direct chats if there is none or it refuses; it is enough if one takes it.
// refused means that nobody will.
func deliver(room string, direct []string, said string, short bool,
	send func(room, text string, short bool) (taken, refused bool)) (taken, refused bool) {
	if refused = true; room != "" {
		taken, refused = send(room, said, short)
	}
	if !refused {
		return taken, false
	}
	for _, room := range direct {
		to, never := send(room, said, short)
		taken, refused = taken || to, refused && never
	}
	return taken, refused
}

// sendNotes sends what Note has kept, and forgets it once somebody has it. If the room for alerts refuses it, the
// owners' direct chats get it. The caller holds mu.
func (w *Watch) sendNotes(send func(room, text string, short bool) (taken, refused bool)) {
	a := w.load()
	if len(a.Notes) == 0 || a.Off {
		return
	}
	if taken, _ := deliver(w.room(a), w.Roster.Direct.Rooms(w.Owners), strings.Join(a.Notes, "\n\n"), true, send); !taken {
		return
	}
	next := *a
	next.Notes = nil
	if err := w.keep(next); err != nil {
		w.Log.Warn().Err(err).Msg("cannot store alerts")
	}
}

// Note tells the owners something, in the room for alerts or else in their direct chats. It is kept until somebody has
// it, also over a restart.
func (w *Watch) Note(text string) {
	defer w.Wake()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.keep(w.load().note(text)); err != nil {
		w.Log.Warn().Err(err).Msg("cannot store alerts")
	}
}

// Tell sets the room for alerts; "" is nowhere.
func (w *Watch) Tell(room string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := *w.load()
	next.Room, next.Off = room, room == ""
	return w.keep(next)
}

// Standing describes the state of the host in one sentence.
func (w *Watch) Standing(ctx context.Context) string { return standing(w.read(ctx)) }

// room is where alerts go, "" for nowhere.
func (w *Watch) room(a *alerts) string {
	switch {
	case a.Off:
		return ""
	case a.Room != "":
		return a.Room
	}
	return w.Room
}

// read measures the resources, and leaves out what cannot be measured.
func (w *Watch) read(ctx context.Context) (readings []reading) {
	free, err := capacity.FreeSpace(w.StateDir)
	if err == nil {
		readings = append(readings, diskReading(alertState, "my state", w.StateDir, free, w.Reserve))
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if path, err := w.Storage(ctx); err == nil {
		if storage, err := capacity.FreeSpace(path); err == nil && storage.Device != free.Device {
			readings = append(readings, diskReading(alertStorage, "the containers", path, storage, w.Reserve))
		}
	}
	if available := capacity.Free(); available > 0 {
		readings = append(readings, memoryReading(available))
	}
	return append(readings, quotaReading(w.Limited()))
}

func (w *Watch) file() string { return filepath.Join(w.StateDir, "alerts.json") }

// load reads alerts.json once; if it cannot be read, it starts empty. The caller holds mu.
func (w *Watch) load() *alerts {
	if w.kept != nil {
		return w.kept
	}
	w.kept = &alerts{}
	data, err := os.ReadFile(w.file())
	if err == nil {
		err = json.Unmarshal(data, w.kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Log.Warn().Err(err).Msg("cannot read alerts.json: using ALERT_ROOM")
		w.kept = &alerts{}
	}
	return w.kept
}

// keep stores what was reported, in memory even if the disk is full. The caller holds mu.
func (w *Watch) keep(a alerts) error {
	w.kept = &a
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("store alerts: %w", err)
	}
	crash.Count("write alerts")
	if err := renameio.WriteFile(w.file(), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("store alerts: %w", err)
	}
	return nil
}
