package bot

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/bot/command"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/sentence"
)

const (
	codeTime    = 10 * time.Minute       // how long a browser can sign in after its code was sent
	sessionTime = 30 * 24 * time.Hour    // how long a person stays signed in
	namesTime   = 30 * time.Millisecond  // how long a page waits for the names of rooms
	useTime     = 500 * time.Millisecond // the same for what a container uses
	chartDays   = 30
	shownTasks  = 20 // finished tasks on a room's page
)

// ErrNoVisitor means that nobody has sent the browser's code, or that a session does not exist, or no longer.
var ErrNoVisitor = errors.New("not signed in")

// Page is what people see and do on the page. Each method finds out who asks, and what they may see, by itself.
type Page struct{ bot *Bot }

// PageOf returns the page of a bot.
func PageOf(b *Bot) Page { return Page{b} }

// Code returns the code that a browser shows now. browser is a secret that only that browser has. Whoever knows the
// code cannot sign in with it: see Admit.
func (p Page) Code(ctx context.Context, browser string) (string, error) {
	return p.code(ctx, browser, p.bot.clock.Now())
}

// code returns the code that a browser has shown at a time. Each is shown for codeTime.
func (p Page) code(ctx context.Context, browser string, at time.Time) (string, error) {
	if !p.bot.work.Open.Load() {
		return "", errStarting
	}
	key, err := p.bot.Journal.Visits.Key(ctx)
	if err != nil {
		return "", err
	}
	return pageCode(key, browser, at), nil
}

func pageCode(key, browser string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%d %s", at.Unix()/int64(codeTime/time.Second), browser)
	return base32.StdEncoding.EncodeToString(mac.Sum(nil))[:command.PageCode]
}

// Admit lets the browser that shows a code sign in as a user, once and soon, with a number that the user is told: so
// nobody is signed in who has somebody send a code. proof is how the message was protected that had the code.
func (p Page) Admit(ctx context.Context, code, user string, proof event.Encryption) (number string, err error) {
	now := p.bot.clock.Now()
	random, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", err
	}
	number = fmt.Sprintf("%06d", random)
	return number, p.bot.Journal.Visits.Admit(ctx, code,
		state.Visitor{User: user, Proof: proof, Until: now.Add(codeTime), Number: number}, now)
}

// Enter signs a browser in and returns the secret of its session, or ErrNoVisitor if nobody has sent its code, or the
// number is another one.
func (p Page) Enter(ctx context.Context, browser, number string) (session string, until time.Time, err error) {
	now := p.bot.clock.Now()
	session, until = rand.Text(), now.Add(sessionTime)
	for _, shown := range []time.Time{now, now.Add(-codeTime)} {
		code, failed := p.code(ctx, browser, shown)
		if failed != nil {
			return "", until, failed
		}
		if err = p.bot.Journal.Visits.Enter(ctx, code, number, session, now, until); err == nil {
			break
		}
	}
	return session, until, noVisitor(err)
}

// LeaveAll ends all sessions of a user.
func (p Page) LeaveAll(ctx context.Context, user string) error {
	return p.bot.Journal.Visits.LeaveAll(ctx, user, p.bot.clock.Now())
}

// Leave ends a session.
func (p Page) Leave(ctx context.Context, session string) error {
	return p.bot.Journal.Visits.Leave(ctx, session)
}

// Visitor returns whose session it is, or ErrNoVisitor. Each request begins with it: before the bot is ready, it
// returns an error with a sentence.
func (p Page) Visitor(ctx context.Context, session string) (state.Visitor, error) {
	if !p.bot.work.Open.Load() {
		return state.Visitor{}, errStarting
	}
	v, err := p.bot.Journal.Visits.Of(ctx, session, p.bot.clock.Now())
	return v, noVisitor(err)
}

func noVisitor(err error) error {
	if errors.Is(err, state.ErrNotFound) {
		return ErrNoVisitor
	}
	return err
}

// owns reports whether a visitor may see all rooms: an owner, whose message with the code was as well proven as
// owners' commands have to be.
func (p Page) owns(ctx context.Context, v state.Visitor) (bool, error) {
	if !p.bot.roster.IsOwner(v.User) {
		return false, nil
	}
	said, err := p.bot.proof.Missing(ctx, event.Event{Encryption: v.Proof}, policy.ProofOwners)
	return said == "" && err == nil, err
}

// sees reports whether a visitor may see a room and act in it: an owner, or a member who may use the bot there. Whoever
// has sent the code in clear sees no encrypted room: the homeserver could have sent it.
func (p Page) sees(ctx context.Context, v state.Visitor, room string) (bool, error) {
	owns, err := p.owns(ctx, v)
	if err != nil {
		return false, err
	}
	return p.shows(ctx, v, owns, room)
}

// shows is sees for somebody of whom it is known whether they own the bot.
func (p Page) shows(ctx context.Context, v state.Visitor, owns bool, room string) (bool, error) {
	if !(event.Event{Encryption: v.Proof}).IsDecrypted() {
		if encrypted, err := p.bot.account.Keys.IsEncrypted(ctx, room); encrypted || err != nil {
			return false, err
		}
	}
	if owns {
		return true, nil
	}
	if !p.bot.roster.MayUse(room, v.User, p.bot.roster.IsDirect(room)).Reply {
		return false, nil
	}
	said, err := p.bot.proof.Missing(ctx, event.Event{Room: room, Encryption: v.Proof}, policy.ProofAll)
	if said != "" || err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	member, err := p.bot.roster.IsMember(ctx, room, v.User)
	if err != nil {
		err = sentence.New(err, "The homeserver does not answer. Try again in a minute.")
	}
	return member, err
}

// known returns the rooms in which the bot works or has worked, without those that have a successor, in which they are
// continued, and those of them that have unfinished work.
func (p Page) known(ctx context.Context) (ids, unfinished []string, err error) {
	unfinished, err = p.bot.Journal.Events.UnfinishedRooms(ctx)
	ids = append(p.bot.Store.Rooms(), unfinished...)
	ids = slices.DeleteFunc(ids, func(id string) bool { return p.bot.Store.SuccessorOf(id) != id })
	slices.Sort(ids)
	return slices.Compact(ids), unfinished, err
}

// open returns a room that a visitor may see, or ErrNoRoom.
func (p Page) open(ctx context.Context, v state.Visitor, id string) (*room, error) {
	ids, _, err := p.known(ctx)
	ok := err == nil && slices.Contains(ids, id)
	if ok {
		ok, err = p.sees(ctx, v, id)
	}
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrNoRoom
	}
	return p.bot.room(id), nil
}

// visible returns those of the rooms that a visitor may see.
func (p Page) visible(ctx context.Context, v state.Visitor, ids []string) ([]string, error) {
	owns, err := p.owns(ctx, v)
	if err != nil {
		return nil, err
	}
	seen := make([]bool, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8) // requests to the homeserver
	for i, id := range ids {
		group.Go(func() (err error) {
			seen[i], err = p.shows(ctx, v, owns, id)
			return err
		})
	}
	err = group.Wait()
	mine := ids[:0]
	for i, id := range ids {
		if seen[i] {
			mine = append(mine, id)
		}
	}
	return mine, err
}

// names returns what rooms are called. It does not wait for long: what it does not know yet, it has the next time.
func (p Page) names(rooms []string) map[string]string {
	unknown := slices.DeleteFunc(slices.Clone(rooms), func(id string) bool {
		_, known := p.bot.roster.Named(id)
		return known
	})
	if len(unknown) > 0 && p.bot.naming.CompareAndSwap(false, true) {
		done := make(chan struct{})
		p.bot.work.Start(func() {
			defer close(done)
			defer p.bot.naming.Store(false)
			for _, id := range unknown {
				p.bot.roster.Name(p.bot.ctx, id)
			}
		})
		select {
		case <-done:
		case <-time.After(namesTime):
		}
	}
	names := make(map[string]string, len(rooms))
	for _, id := range rooms {
		names[id], _ = p.bot.roster.Named(id)
		if names[id] == "" {
			if names[id] = id; p.bot.roster.IsDirect(id) {
				names[id] = "Direct chat with " + p.bot.tasks.NameOf(p.bot.roster.Direct.User(id))
			}
		}
	}
	return names
}
