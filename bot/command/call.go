package command

import (
	"context"
	"strings"
	"sync/atomic"

	"matrix-tui/bot/alert"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/proof"
	"matrix-tui/bot/roster"
	"matrix-tui/bot/stop"
	"matrix-tui/bot/update"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Deps are what the commands of all rooms work with.
type Deps struct {
	Bot     Bot
	Account *matrix.Account
	Roster  *roster.Roster
	Proof   *proof.Rules
	Pairing *policy.Pairing
	Alerts  *alert.Watch
	Updates update.Updater // nil if the bot cannot update itself
	PageURL string         // where people reach the page; "": there is none

	// NoUpdates says why it cannot; "" = it was not installed from a release.
	NoUpdates string

	updating atomic.Value // string: event ID of the order whose update this process has started
}

// Call is one use of a command in a room.
type Call struct {
	*Deps
	stop.Orders // to the room's tasks
	Room        Room
	Row         state.Event // the message
	Address     string      // how to give the bot a task in this room
	text        string      // what follows the command
}

// Room is what commands set off in package decide, which knows the commands: a call in both directions would be a
// cycle. Both methods finish the message.
type Room interface {
	Answer(ctx context.Context, row state.Event, text string) error // answers a question
	Compact(ctx context.Context, row state.Event) error             // asks for a summary of the session
}

// Bot is what commands set off beyond their room. It is an interface because package bot knows the commands.
type Bot interface {
	Greet(ctx context.Context, m state.Message) error // sends a message to another room
	Scheduled()                                       // an entry of a schedule has changed
	// Admit lets the browser that shows a code sign in to the page as a user with a number; SignOut ends all sessions of
	// a user there.
	Admit(ctx context.Context, code, user string, proof event.Encryption) (number string, err error)
	SignOut(ctx context.Context, user string) error
	SelfUpdate(ctx context.Context, o update.Order, say func(string)) error
}

// Do carries out the command of a message and finishes the message. It explains the syntax, or says that the sender may
// not use it, or not in this room.
func Do(ctx context.Context, c *Call) error {
	said, err := c.do(ctx)
	if err != nil || said == "" {
		return err
	}
	return c.Out.Tell(ctx, c.Row, said)
}

func (c *Call) do(ctx context.Context) (said string, err error) {
	m, _ := c.Row.Message()
	one, rest, known := Parse(m.Words())
	c.text = rest
	if one.Owners && c.byOwner() {
		if said, err := c.Proof.Missing(ctx, c.Row.Event, policy.ProofOwners); err != nil || said != "" {
			return said, err
		}
	}
	switch {
	case update.Wanted(m.Words()):
		return c.plainUpdate(), nil
	case !known:
		return Unknown(m.Words()), nil
	case one.Owners && !c.byOwner():
		return "`!" + one.Name + "` is for my owners.", nil
	case one.Direct && !c.Roster.IsDirect(c.Row.Room):
		return "`!" + one.Name + "` works only in a direct chat.", nil
	case !one.Takes(rest) || one.run == nil:
		return one.Usage(), nil
	}
	return one.run(ctx, c)
}

// byOwner reports whether the sender is one of the owners.
func (c *Call) byOwner() bool { return c.Roster.IsOwner(c.Row.Sender) }

// answer runs !answer.
func answer(ctx context.Context, c *Call) (string, error) {
	return "", c.Room.Answer(ctx, c.Row, c.text)
}

// steer runs !steer.
func steer(ctx context.Context, c *Call) (string, error) { return "", c.Steer(ctx, c.Row, c.text) }

// stopTask runs !stop.
func stopTask(ctx context.Context, c *Call) (string, error) {
	if strings.EqualFold(c.text, "all") {
		return "", c.All(ctx, c.Row)
	}
	return "", c.Stop(ctx, c.Row)
}

// compact runs !compact: a task that summarises the session.
func compact(ctx context.Context, c *Call) (string, error) { return "", c.Room.Compact(ctx, c.Row) }
