package bot

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/retry"
)

// Updates puts newer releases of the program in its place. What it does is on
// the disk when a method returns.
type Updates interface {
	// Begin notes an order. An event that was noted before is known: nothing is
	// to be done for it again.
	Begin(UpdateOrder) (known bool, err error)
	// Prepare does all that can be done beforehand, and tells by say how far it
	// is. ErrNothingNew ends it well.
	Prepare(ctx context.Context, o UpdateOrder, say func(string)) (to string, err error)
	// Commit notes how things stand before the switch.
	Commit(Snapshot) error
	// Result is what came of the last update, while nobody was told of it.
	Result() (UpdateResult, bool)
	// Told ends that.
	Told() error
}

// How long a release that goes waits until the room knows, and how often it looks.
const sentWait, sentLook = 5 * time.Second, 10 * time.Millisecond

// UpdateOrder is somebody's wish for an update.
type UpdateOrder struct {
	Ref         string // tag, branch or commit; "" = the newest
	Again       bool   // although it has failed twice
	Room, Event string // where it was asked for; "" = on the command line
}

// Snapshot is what an update must leave as it was.
type Snapshot struct {
	Rooms     int    // with a container
	Container string // of the room that asked: its ID
	Turns     int    // of conversation, over all rooms
}

// UpdateResult is how an update ended.
type UpdateResult struct {
	Room, Event string
	From, To    string
	Done        bool
	Took        time.Duration // from the order to the end
	Down        time.Duration // of it, in which the bot did not work
	Subjects    []string      // what is new
	Why         string        // it was not done
	Log         []string      // last lines of the release that failed
	Before      Snapshot
}

var (
	// ErrSwitch is what Run returns when everything is ready for the new release
	// to take this process over.
	ErrSwitch = errors.New("a new release takes over")
	// ErrNothingNew is an order for the release that runs.
	ErrNothingNew = errors.New("nothing is new")
)

// updateWords are the few ways to say to the bot, in a message of its own, what
// `!self_update` is for.
var updateWords = regexp.MustCompile(`(?i)^(hey |hi )?(please |can you |could you |will you )*((self-?)?update|upgrade) (yourself|your ?self|the bot|matrix-tui)( now| please)*( to (the )?(latest|newest)( version| release)?)?( now| please)*[.!?]*$`)

// wantsUpdate tells whether a whole message asks for an update in plain words.
func wantsUpdate(text string) bool { return updateWords.MatchString(strings.TrimSpace(text)) }

// doPlainUpdate says which command updates the bot.
func (r *room) doPlainUpdate(ctx context.Context, row state.Event) error {
	if !r.bot.isOwner(row.Sender) {
		return r.tell(ctx, row, "Only my owners can update me, by `!self_update`.")
	}
	return r.tell(ctx, row, "To update me, send `!self_update`: it shows what is new and installs the newest release. `!self_update REF` takes a tag, a branch or a commit.")
}

// doSelfUpdate begins an update. The row ends before any work begins, so that
// no later start can begin it again.
func (r *room) doSelfUpdate(ctx context.Context, row state.Event, text string) error {
	b := r.bot
	if b.Updates == nil {
		return r.tell(ctx, row, "I was not installed from a release, so I cannot update myself. `deploy/install` sets this up.")
	}
	o := UpdateOrder{Room: r.id, Event: row.ID}
	words := strings.Fields(text)
	if len(words) > 0 && strings.EqualFold(words[len(words)-1], "again") {
		o.Again, words = true, words[:len(words)-1]
	}
	if len(words) > 1 {
		return r.tell(ctx, row, "`!self_update` takes one tag, branch or commit, or nothing for the newest.")
	}
	o.Ref = strings.Join(words, "")
	if known, err := b.Updates.Begin(o); err != nil {
		return r.tell(ctx, row, b.sentence(err))
	} else if known && b.updating.Load() != row.ID {
		return r.finish(ctx, row) // in a former life: what came of it is told at the start
	}
	b.updating.Store(row.ID)
	if err := r.tell(ctx, row, "🔄 Looking for what is new …"); err != nil {
		return err
	}
	b.start(func() { r.selfUpdate(b.ctx, o, row) })
	return nil
}

// selfUpdate does an order of a room, and shows in the answer to it how far it
// is.
func (r *room) selfUpdate(ctx context.Context, o UpdateOrder, row state.Event) {
	key, n := task.KeyOf(row.Room, row.ID), 0
	say := func(text string) {
		n++
		m := matrix.Edit(state.AboutRef(toldTxn(row)), matrix.Notice("🔄 "+text))
		if err := r.queue(ctx, r.out(state.KindUpdate, fmt.Sprintf("%s-u%d", key, n), m)); err != nil && ctx.Err() == nil {
			r.bot.log.Warn().Err(err).Str("room", r.id).Msg("tell of an update")
		}
	}
	err := r.bot.SelfUpdate(ctx, o, say)
	if err == nil || ctx.Err() != nil {
		return
	}
	text := "Nothing is new: I am the newest release."
	if !errors.Is(err, ErrNothingNew) {
		text = "⚠️ The update failed; I keep running the current release. " + r.bot.sentence(err) + logLines(err)
	}
	m := matrix.Notice(text)
	m.RelatesTo = relate(originOf(row), row.ID)
	if err := r.queue(ctx, r.out(state.KindUpdate, key+"-updated", m)); err != nil && ctx.Err() == nil {
		r.bot.log.Error().Err(err).Str("room", r.id).Msg("tell of an update")
	}
}

// SelfUpdate brings a newer release to where it can take over, waits for the
// tasks that run, and has Run return ErrSwitch. The order has begun. Any error
// means that all goes on as it is.
func (b *Bot) SelfUpdate(ctx context.Context, o UpdateOrder, say func(string)) error {
	to, err := b.Updates.Prepare(ctx, o, say)
	if err != nil {
		return err
	}
	if n := b.awaitTasks(ctx); n > 0 {
		b.log.Info().Int("tasks", n).Msg("updating while tasks are running: they continue in their containers")
	}
	if err := b.Updates.Commit(b.snapshot(ctx, o.Room)); err != nil {
		return err
	}
	say("Release `" + to + "` takes over now.")
	b.awaitSent(ctx, o.Room)
	b.log.Info().Str("to", to).Msg("a new release takes over")
	b.leave(ErrSwitch)
	return nil
}

// awaitSent waits until a room was told what there is to tell, for a while: what
// comes next may take a minute, and the room should know.
func (b *Bot) awaitSent(ctx context.Context, room string) {
	ctx, cancel := context.WithTimeout(ctx, sentWait)
	defer cancel()
	for room != "" {
		if _, err := b.Journal.NextMessage(ctx, room); err != nil || retry.Sleep(ctx, sentLook) != nil {
			return
		}
	}
}

// awaitTasks waits for the tasks that run now, as long as the operator allows,
// and returns how many still do.
func (b *Bot) awaitTasks(ctx context.Context) int {
	var running []*task.Work
	b.mu.Lock()
	for _, r := range b.rooms {
		if t := r.atWork(); t != nil {
			running = append(running, t)
		}
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, b.UpdateWait)
	defer cancel()
	for i, t := range running {
		select {
		case <-t.Left():
		case <-ctx.Done():
			return len(running) - i
		}
	}
	return 0
}

// snapshot is how things stand.
func (b *Bot) snapshot(ctx context.Context, room string) Snapshot {
	s := Snapshot{Rooms: len(b.Store.Containers())}
	for _, name := range b.Store.Rooms() {
		s.Turns += len(b.Store.History(name))
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	infos, err := b.Podman.List(ctx)
	if err != nil {
		b.log.Warn().Err(err).Msg("look for the room's container")
	}
	for _, info := range infos {
		if info.Room == room && info.Name == b.Store.Container(room) {
			s.Container = info.ID
		}
	}
	return s
}

// Try proves that a bot could log in and read its keys, in a copy of the state
// folder: the token is shown to the homeserver, and nothing else is said or
// asked there.
func Try(ctx context.Context, cfg Config) error {
	b, err := New(cfg, Parts{})
	if err != nil {
		return err
	}
	policy.Open(cfg.StateDir, cfg.Log)
	return b.account.Try(ctx)
}
