// Package bot is rooms and people: which event is a task, an answer or a command,
// and who is allowed; the queue of each room, membership, upgrades, alerts and
// updates. It connects the parts: events come in and messages go out through
// bot/matrix, and bot/task does a task in the room's container.
//
// Everything that must survive a crash goes through [state.Journal] before it
// is acted on: events come in and messages go out as rows, and each step of a
// task is a state of its row, so that it continues where it stopped. The package
// never imports mautrix, never talks to podman but through [sandbox], and never
// logs the text of a message or a secret.
package bot

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/alert"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/media"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/task"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// Config is what the operator decides about the account and its tasks.
type Config struct {
	Homeserver  string // base URL of the client-server API
	User        string // full ID or localpart
	Password    string // used once; afterwards the stored token and device are
	AccessToken string // instead of a password
	Owners      []string
	AllDevices  bool     // trust devices that are not cross-signed: see [e2ee.Config]
	Allow       []string // user IDs and globs such as @*:example.org; empty: the owners
	StateDir    string

	Image  string
	Memory int64 // bytes
	CPUs   float64
	PIDs   int64

	Model            string
	CodingTimeout    time.Duration // of one run of the agent
	ExecutionTimeout time.Duration // of a question, from when it is in the room
	NotifyQuestion   bool          // questions mention the asker, and are reminded of
	NotifyComplete   bool          // results mention the asker, and tell what they cost
	Debounce         time.Duration // messages of one person so close to each other are one task; 0: none are
	Archive          time.Duration // so long the journal keeps what is done, as context
	MaxParallel      int           // tasks at once, over all rooms
	UpdateWait       time.Duration // so long an update waits for the tasks that run
	MediaMax         int64         // bytes of one file, in and out
	AlertRoom        string        // where the owners are told what runs short; "": nowhere, unless `!alerts here` says so
	Version          string
	// Ready is called once, when the first batch of events is stored and before
	// anything is done that others see; its error ends the bot. nil is nothing.
	Ready func() error
	Log   zerolog.Logger
}

// Parts are what the bot works with; whoever made them closes them, after
// [Bot.Run] has returned.
type Parts struct {
	Store       *state.Store
	Journal     *state.Journal
	Transcripts *state.Transcripts
	Podman      *sandbox.Podman
	Gateway     *gateway.Gateway
	Agent       task.Agent
	Updates     Updates // nil where there are no releases
}

// Bot is one account and its rooms.
type Bot struct {
	Config
	Parts
	account *matrix.Account
	log     zerolog.Logger
	tasks   *task.Deps  // what the tasks of all rooms work with
	synced  queue.Gate  // opened by each sync that was committed
	asked   queue.Gate  // opened by each sync that is asked for
	waits   *task.Waits // the tasks that wait for an answer
	policy  *policy.Source
	direct  directs
	company company
	keys    keys
	called  atomic.Value // string: the display name

	pairing *policy.Pairing
	count   *counters

	receipts queue.Newest // the newest events that are durably ours, by room
	watch    *alert.Watch

	updating atomic.Value // string: the message whose update this process has begun
	isOpen   atomic.Bool  // the rooms work

	mu       sync.Mutex
	rooms    map[string]*room
	draining bool
	ctx      context.Context         // of everything the rooms do; ends when Run is told to end
	leave    context.CancelCauseFunc // tells Run to end
	work     sync.WaitGroup
}

// New prepares a bot; nothing is contacted before [Bot.Run].
func New(cfg Config, parts Parts) (*Bot, error) {
	if cfg.MaxParallel < 1 {
		cfg.MaxParallel = 1
	}
	pairing, err := policy.OpenPairing(cfg.StateDir, cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("open pairing codes: %w", err)
	}
	b := &Bot{
		pairing: pairing,
		Config:  cfg,
		Parts:   parts,
		log:     cfg.Log,
		synced:  queue.NewGate(),
		asked:   queue.NewGate(),
		waits:   task.NewWaits(),
		policy:  policy.Open(cfg.StateDir, cfg.Log),
		count:   newCounters(),
		rooms:   map[string]*room{},
	}
	b.tasks = b.deps()
	b.watch = &alert.Watch{StateDir: cfg.StateDir, Room: cfg.AlertRoom, Storage: parts.Podman.Storage, Limited: parts.Gateway.Limited, Log: cfg.Log}
	b.account, err = matrix.New(matrix.Config{
		Homeserver: cfg.Homeserver, User: cfg.User, Password: cfg.Password, AccessToken: cfg.AccessToken,
		StateDir: cfg.StateDir, Version: cfg.Version, AllDevices: cfg.AllDevices, Owner: b.isOwner, KeyCame: b.keyCame, Rejected: b.count.rejected.Inc, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// UserID is the account's full ID; empty before the login.
func (b *Bot) UserID() string { return b.account.UserID() }

// Run logs in, takes up what was left, and serves until ctx ends. Tasks that
// run then go on in their boxes; the next Run finds them by the journal. It
// returns nil after an orderly end, and ErrSwitch after one for an update.
func (b *Bot) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	b.ctx, b.leave = ctx, stop
	err := b.serve(ctx, time.Now())
	stop(nil) // also when it is an error that ends us: no worker may wait for a homeserver that refuses us
	b.mu.Lock()
	b.draining = true
	b.mu.Unlock()
	b.work.Wait()
	b.account.Close()
	if errors.Is(err, context.Canceled) {
		err = nil
		if cause := context.Cause(ctx); errors.Is(cause, ErrSwitch) {
			err = cause
		}
	}
	b.log.Info().Msg("stopped")
	return err
}

func (b *Bot) serve(ctx context.Context, begun time.Time) error {
	if err := media.EmptyDir(b.tmp()); err != nil {
		return err
	}
	stopped, err := b.reconcile(ctx)
	if err != nil {
		return err
	}
	if err := b.account.Login(ctx); err != nil {
		return err
	}
	if err := b.loadDirects(ctx); err != nil {
		return err
	}
	if err := b.takeUpWaiting(ctx); err != nil { // before the first answer can come
		return err
	}
	if err := b.syncOnce(ctx, 0); err != nil {
		return err
	}
	b.tellUpdate(ctx)
	b.isOpen.Store(true)
	if err := b.takeUp(ctx); err != nil {
		return err
	}
	b.startStopped(ctx, stopped)
	b.start(func() { b.introduce(ctx) })
	b.start(func() { b.purge(ctx) })
	b.start(func() { b.watchWaits(ctx) })
	b.start(func() { b.watchKeys(ctx) })
	b.start(func() { b.watchHost(ctx) })
	debug.FreeOSMemory() // what the start has read, and nobody needs again
	b.log.Info().Str("user", b.UserID()).Dur("after_ms", time.Since(begun)).Msg("ready")
	return b.follow(ctx)
}

// takeUp wakes each room that has unfinished work or unsent messages.
func (b *Bot) takeUp(ctx context.Context) error {
	rooms, err := b.Journal.UnfinishedRooms(ctx)
	if err != nil {
		return fmt.Errorf("list unfinished rooms: %w", err)
	}
	for _, name := range rooms {
		b.room(name).wake()
	}
	rooms, err = b.Journal.UnsentRooms(ctx)
	if err != nil {
		return fmt.Errorf("list rooms with unsent messages: %w", err)
	}
	for _, name := range rooms {
		b.room(name).outbox.Wake()
	}
	return nil
}

// room returns the queue of a room, made at the first call.
func (b *Bot) room(name string) *room {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rooms[name]
	if r == nil {
		r = newRoom(b, name)
		b.rooms[name] = r
	}
	return r
}

// start runs f as part of the bot, unless it is going down already.
func (b *Bot) start(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.draining {
		return false
	}
	b.work.Go(f)
	return true
}

// startWorker is start for what works off the rooms' rows: nothing of it before
// the first batch of events is stored, so that a release that does not come so
// far has done nothing. takeUp wakes them then.
func (b *Bot) startWorker(f func()) bool { return b.isOpen.Load() && b.start(f) }

func (b *Bot) isSelf(user string) bool { return user == b.UserID() }

// introduce gives the account a name and a picture where it has none.
func (b *Bot) introduce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name, err := b.account.Introduce(ctx)
	if err != nil && b.ctx.Err() == nil {
		b.log.Warn().Err(err).Msg("introduce the account")
	}
	if name != "" {
		b.called.Store(name)
	}
}

// sentence is what a person in the room is told of an error: its own sentence
// where it has one, else an ID that the log has too.
func (b *Bot) sentence(err error) string {
	said, id := sentence.Tell(err)
	if id == "" {
		b.log.Warn().Err(err).Msg("told the room")
	} else {
		b.log.Error().Err(err).Str("error_id", id).Msg("internal error")
	}
	return said
}
