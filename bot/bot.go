// Package bot starts, connects and stops the packages that do its work, and runs each room's workers. bot/admit stores
// what arrives, bot/decide and bot/command act on it, bot/task runs a task in the room's container, and bot/outbox
// sends what is to be said.
//
// Everything that must survive a crash is stored in [state.Journal] before anyone
// acts on it: incoming events, outgoing messages and each step of a task are rows,
// so that a task continues where it stopped. The package never imports mautrix,
// never talks to podman except through [sandbox], and never logs message text or
// secrets.
package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/admit"
	"matrix-tui/bot/alert"
	"matrix-tui/bot/clock"
	"matrix-tui/bot/command"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/media"
	"matrix-tui/bot/membership"
	"matrix-tui/bot/metrics"
	"matrix-tui/bot/outbox"
	"matrix-tui/bot/pending"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/presence"
	"matrix-tui/bot/proof"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/roster"
	"matrix-tui/bot/task"
	"matrix-tui/bot/timeline"
	"matrix-tui/bot/upgrade"
	"matrix-tui/sandbox"
	"matrix-tui/state/damage"
)

// Bot is one account and its rooms.
type Bot struct {
	Config
	Parts
	account    *matrix.Account
	clock      hostClock
	log        zerolog.Logger
	tasks      *task.Deps        // dependencies of the tasks in all rooms
	waits      *pending.Schedule // tasks that wait for an answer
	clockwork  Clockwork
	policy     *policy.Source
	proof      *proof.Rules
	roster     *roster.Roster
	judge      *admit.Judge // what an event is, and for whom
	admission  *admit.Admission
	keys       *admit.Keys
	upgrades   *upgrade.Shared
	profile    presence.Profile
	membership membership.Shared

	pairing  *policy.Pairing
	count    *metrics.Counters
	commands *command.Deps

	receipts presence.Receipts
	watch    *alert.Watch

	outboxes *outbox.Shared

	naming     atomic.Bool // the names of rooms are being asked for: see Page
	forgetting sync.Mutex  // held while somebody has a room forget something on the page

	mu    sync.Mutex
	rooms map[string]*room
	ctx   context.Context         // context of all work in rooms; cancelled when Run is told to stop
	leave context.CancelCauseFunc // tells Run to stop
	work  queue.Group             // its workers start once the first sync is stored
}

// New returns a bot that has contacted nothing yet: see [Bot.Run].
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
		waits:   pending.New(),
		policy:  policy.Open(cfg.StateDir, cfg.Log),
		count:   metrics.New(),
		rooms:   map[string]*room{},
	}
	b.work.Log = cfg.Log
	b.clockwork = Clockwork{bot: b, changed: make(chan struct{}, 1)}
	b.roster = &roster.Roster{Log: cfg.Log, Access: roster.Access{Policy: b.policy, Owners: cfg.Owners, Allow: cfg.Allow}}
	b.membership = membership.Shared{Roster: b.roster, Profile: &b.profile, Pairing: pairing}
	b.tasks = b.deps()
	account, err := matrix.New(matrix.Config{
		Homeserver: cfg.Homeserver, User: cfg.User, Password: cfg.Password, AccessToken: cfg.AccessToken,
		StateDir: cfg.StateDir, Version: cfg.Version, Devices: cfg.Devices, Owner: b.roster.IsOwner,
		KeyArrived: func(key e2ee.Key) { b.keys.Arrived(key) }, Damaged: func(err error) { b.leave(err) },
		Replaced: func(file string) { b.watch.Note(alert.KeysReplaced(file, cfg.AccessToken == "" && cfg.Password != "")) },
		Rejected: b.count.Rejected, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	b.proof = &proof.Rules{All: cfg.Proof, Owners: cfg.Owners, Policy: b.policy}
	b.profile.Group, b.profile.Log = &b.work, cfg.Log
	b.receipts.Group, b.receipts.Log = &b.work, cfg.Log
	b.watch = alert.New(alert.Config{
		StateDir: cfg.StateDir, Room: cfg.AlertRoom, Owners: cfg.Owners, Account: account, Roster: b.roster, Log: cfg.Log,
		Storage: func(ctx context.Context) (string, error) { return parts.Podman.Storage(ctx) },
		Limited: parts.Route.Limited, Reserve: uint64(cfg.DiskReserve),
	})
	b.commands = &command.Deps{
		Bot: commandBot{b}, Roster: b.roster, Proof: b.proof, Pairing: pairing, Alerts: b.watch, Updates: parts.Updates,
		NoUpdates: cfg.NoUpdates, PageURL: cfg.PageURL,
	}
	b.judge = &admit.Judge{Journal: parts.Journal, Roster: b.roster, Profile: &b.profile, Waits: b.waits, Group: &b.work,
		Joins: cfg.Debounce > 0}
	b.keys = &admit.Keys{Judge: b.judge, Rooms: admitted{b}}
	b.admission = &admit.Admission{
		Judge: b.judge, Receipts: &b.receipts, Store: parts.Store, Watch: b.watch, Rooms: admitted{b},
		Ready: cfg.Ready, Rehearsal: cfg.Rehearsal,
	}
	b.outboxes = &outbox.Shared{Journal: parts.Journal, Synced: &b.admission.Synced, Group: &b.work}
	b.upgrades = &upgrade.Shared{Journal: parts.Journal, Store: parts.Store, Roster: b.roster, Policy: b.policy,
		Recall: parts.Recall, Gateway: parts.Gateway, Alerts: b.watch, Group: &b.work}
	b.admission.Upgrades = b.upgrades
	b.use(account)
	return b, nil
}

// use makes an account the bot's.
func (b *Bot) use(account *matrix.Account) {
	b.account, b.proof.Account, b.roster.Account, b.profile.Account = account, account, account, account
	b.receipts.Account, b.judge.Account, b.outboxes.Account, b.commands.Account, b.upgrades.Account = account, account,
		account, account, account
	b.clock.account, b.admission.Timeline = account, timeline.New(b.Journal, account)
}

// UserID returns the account's full ID; before the login it may be empty.
func (b *Bot) UserID() string { return b.account.UserID() }

// Run logs in, resumes unfinished work and serves until ctx ends. Tasks that are
// running then continue in their containers; the next Run finds them through the
// journal. It returns nil after a clean shutdown, ErrSwitch if the process stopped for
// an update, and an error for which [damage.Is] is true if a database turned out to be
// damaged: the next start replaces it.
func (b *Bot) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	b.ctx, b.work.Context, b.leave = ctx, ctx, stop
	b.Journal.OnDamage(stop)
	err := b.serve(ctx, time.Now())
	stop(nil) // after an error, too: no worker may wait for a homeserver that refuses us
	b.work.Close()
	b.account.Close()
	if errors.Is(err, context.Canceled) {
		err = nil
		if cause := context.Cause(ctx); errors.Is(cause, ErrSwitch) || damage.Is(cause) {
			err = cause
		}
	}
	b.log.Info().Msg("stopped")
	return err
}

func (b *Bot) serve(ctx context.Context, begun time.Time) error {
	if err := media.EmptyDir(tmp(b.StateDir)); err != nil {
		return err
	}
	b.tasks.Budget.Account(b.Route, b.Recall)
	b.Gateway.Attend(sandbox.OfferPath, sandbox.OfferField, b.tasks.Offered)
	if err := b.clock.Resume(ctx, b.Journal); err != nil {
		return err
	}
	if err := b.reconcile(ctx); err != nil {
		return err
	}
	if err := b.tellRestored(ctx); err != nil {
		return err
	}
	if err := b.account.Login(ctx); err != nil {
		return err
	}
	_, b.tasks.Server, _ = strings.Cut(b.UserID(), ":")
	if err := b.roster.Load(ctx); err != nil {
		return err
	}
	if err := b.resumeWaiting(ctx); err != nil { // before the first answer can arrive
		return err
	}
	if err := b.upgrades.Resume(ctx); err != nil {
		return err
	}
	if err := finishEdits(ctx, b); err != nil {
		return err
	}
	if err := b.outboxes.NoteUnderWay(ctx); err != nil {
		return err
	}
	if err := b.admission.Sync(ctx, 0); err != nil {
		return err
	}
	b.tellUpdate(ctx)
	b.work.Open.Store(true)
	if err := b.wakeRooms(ctx); err != nil {
		return err
	}
	b.work.Start(func() { b.profile.Set(ctx) })
	b.work.Spawn(func() { b.clock.Watch(ctx, b.Journal, b.account.Now, b.watch.Note, b.log) })
	b.work.Spawn(func() { b.purge(ctx) })
	b.work.Spawn(func() { b.keepSnapshots(ctx) })
	b.work.Spawn(func() { b.watchWaits(ctx) })
	b.work.Spawn(func() { b.clockwork.run(ctx) })
	b.work.Spawn(func() { b.keys.Watch(ctx, b.clock.Now) })
	b.work.Spawn(func() { b.account.Keys.Keep(ctx) })
	b.work.Spawn(func() { b.watch.Run(ctx) })
	b.work.Spawn(func() { presence.WatchAddress(ctx, b.account, b.Gateway, b.log) })
	b.work.Spawn(func() { b.tasks.Keeper.Watch(ctx) })
	b.work.Spawn(func() { trimMemory(ctx) })
	b.work.Spawn(func() { b.Models.Watch(ctx, func() []string { return b.policy.Now().Models(b.Model) }, b.watch.Note) })
	b.log.Info().Str("user", b.UserID()).Dur("after_ms", time.Since(begun)).Dur("homeserver_ms", b.admission.Took).
		Msg("ready")
	return b.admission.Follow(ctx)
}

// wakeRooms wakes every room with unfinished work, gaps or unsent messages.
func (b *Bot) wakeRooms(ctx context.Context) error {
	rooms, err := b.Journal.Events.UnfinishedRooms(ctx)
	if err != nil {
		return fmt.Errorf("list unfinished rooms: %w", err)
	}
	for _, name := range rooms {
		b.room(name).wake()
	}
	if err := b.admission.FillGaps(ctx); err != nil {
		return err
	}
	rooms, err = b.Journal.Messages.UnsentRooms(ctx)
	if err != nil {
		return fmt.Errorf("list rooms with unsent messages: %w", err)
	}
	for _, name := range rooms {
		b.room(name).outbox.Wake()
	}
	return nil
}

// room returns the room with this ID and creates it on the first call.
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

// hostClock is the time on which the bot acts. It implements [task.Clock].
type hostClock struct {
	clock.Clock
	account *matrix.Account
}

// Now returns the time for everything that expires.
func (c *hostClock) Now() time.Time { return c.Clock.Now(c.account.Now()) }

// Shown implements [task.Clock].
func (c *hostClock) Shown() time.Time { return c.account.Now().Round(0) }

// In returns when a time limit that begins now is over.
func (c *hostClock) In(d time.Duration) time.Time { return c.Clock.In(c.account.Now().Round(0), d) }
