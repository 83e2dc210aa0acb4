package admit

import (
	"context"
	"errors"

	"matrix-tui/bot/command"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/pending"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/presence"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/roster"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Judge decides what an event is to the bot, and for whom, by the policy as it is now.
type Judge struct {
	Account *matrix.Account
	Journal *state.Journal
	Roster  *roster.Roster
	Profile *presence.Profile
	Waits   *pending.Schedule // open questions
	Group   *queue.Group
	Joins   bool // files may join the task that their sender's words make
}

// Judged returns a row with its kind and its addressee.
func (j *Judge) Judged(ctx context.Context, row state.Event) state.Event {
	q := j.Query(ctx, row.Room, row.Event)
	among := j.Roster.Policy.Decide(q)
	q.Alone = j.Roster.MayBeAlone(row.Room)
	concerns := func() bool { return j.MayConcern(row.Room, row.Event) }
	row.Kind, row.Addressee = permitted(kindOf(row.Event, j.Account.UserID()), among, j.Roster.Policy.Decide(q), concerns)
	return row
}

// Query describes an event to the policy.
func (j *Judge) Query(ctx context.Context, room string, e event.Event) policy.Query {
	q := policy.Query{Room: room, Sender: e.Sender, Owners: j.Roster.Owners, Allow: j.Roster.Allow,
		Direct: j.Roster.IsDirect(room)}
	m, ok := e.Message()
	if !ok || m.IsEdit() {
		// What is not a message, such as a reaction, needs no mention. An edit matters only if the original was for the bot,
		// or if it mentions the bot now.
		q.Mentioned = true
		return q
	}
	_, _, q.Command = command.Parse(m.Words())
	to := j.Addressee(m)
	q.Mentioned = to == policy.TheBot || to == policy.Nobody && j.isToBot(ctx, room, m)
	return q
}

// Addressee returns whom a message addresses by name.
func (j *Judge) Addressee(m event.Message) policy.Addressee {
	return policy.Addressed(m, j.Account.UserID(), j.Profile.Name())
}

// isToBot reports whether a message replies to one of the bot's messages or is in
// a thread that one of them started, or that has a task.
func (j *Judge) isToBot(ctx context.Context, room string, m event.Message) bool {
	for _, about := range []string{m.RelatesTo.ReplyTo(), m.RelatesTo.Thread()} {
		if about == "" {
			continue
		}
		if _, err := j.Journal.Messages.Of(ctx, room, about); err == nil {
			return true
		}
	}
	root := m.RelatesTo.Thread()
	if root == "" {
		return false
	}
	works, err := j.Journal.Tasks.InThread(ctx, room, root)
	return err == nil && works
}

// MayConcern reports whether a message may answer an open question, stop a task or add a file to one, and so needs no
// mention. Whether it does that is decided later. A file cannot mention the bot, and nobody does so for each of
// several.
func (j *Judge) MayConcern(room string, e event.Event) bool {
	m, ok := e.Message()
	if !ok {
		return false
	}
	asked := !command.IsForeign(m.Words()) && j.Waits.AskedOf(room, e.Sender, m.RelatesTo.Thread())
	return asked || m.IsFile() && j.Joins || j.Stops(e)
}

// Stops reports whether a message is nothing but a word that stops its sender's task.
func (j *Judge) Stops(e event.Event) bool {
	m, ok := e.Message()
	said, _ := j.Named(m.Words())
	return ok && !m.IsFile() && !m.IsEdit() && command.IsStop(said)
}

// Named returns what follows the bot's name at the beginning of a text.
func (j *Judge) Named(said string) (rest string, named bool) {
	return policy.AfterName(said, j.Account.UserID(), j.Profile.Name())
}

// Understood notes in a message what depends on who the bot is: whether it is from another bot of this kind, and the
// command that follows the bot's name, as in "@bot !stop".
func (j *Judge) Understood(e event.Event) event.Event {
	m, ok := e.Message()
	if !ok || j.isSelf(e.Sender) {
		return e
	}
	if m.Automatic = e.Transaction != ""; m.Automatic {
		e.Body.Message = &m
	}
	said := m.Words()
	if m.IsEdit() {
		said = m.NewWords()
	}
	rest, named := j.Named(said)
	if named && command.HasForm(rest) {
		m.Command = rest
		e.Body.Message = &m
	}
	return e
}

// examine decrypts a new event and decides what it is to the bot; one that is not fresh is context.
// One that panics here is left to its room's worker, which counts that.
func (j *Judge) examine(ctx context.Context, e event.Event, fresh bool) (row state.Event) {
	row.Event = e
	err := queue.Recovered(func() error {
		row.Event = j.Understood(j.Account.Keys.Decrypt(ctx, e))
		if fresh {
			row = j.Judged(ctx, row)
		}
		return nil
	})
	if panicked := (*queue.PanicError)(nil); errors.As(err, &panicked) {
		j.Group.Log.Error().Str("room", e.Room).Str("event", e.ID).Bytes("stack",
			panicked.Stack).Msg("panic while reading an event")
	}
	if !fresh {
		row.Kind = event.KindContext
	}
	return row
}

// trim drops what an event says if its sender may not use the bot. What remains serves
// deduplication and the order of events; a quotation fetches the message again.
func (j *Judge) trim(row state.Event) state.Event {
	if j.isSelf(row.Sender) || j.Roster.Hears(row.Room, row.Sender) {
		return row
	}
	switch {
	case row.Undecrypted() && row.Status != state.Pending:
		row.Encryption, row.Session, row.Distrust, row.Raw = event.Undecryptable, "", "", nil
	default:
		row.Body = event.Body{Member: row.Body.Member}
	}
	return row
}

// Decrypted tries to decrypt a row that is not decrypted yet, and stores the result
// if it has changed.
func (j *Judge) Decrypted(ctx context.Context, row state.Event) (state.Event, error) {
	if !row.Undecrypted() {
		return row, nil
	}
	now := row
	now.Event = j.Understood(j.Account.Keys.Decrypt(ctx, row.Event))
	if now.Encryption == row.Encryption && now.Session == row.Session && now.Distrust == row.Distrust {
		return row, nil
	}
	now = j.trim(j.Judged(ctx, now)) // as it is stored
	return now, j.Journal.Undecrypted.Decoded(ctx, now)
}

// Event returns an event from the journal, decrypted if that is now possible.
func (j *Judge) Event(ctx context.Context, room, id string) (state.Event, error) {
	row, err := j.Journal.Events.Get(ctx, room, id)
	if err != nil {
		return row, err
	}
	return j.Decrypted(ctx, row)
}

func (j *Judge) isSelf(user string) bool { return user == j.Account.UserID() }
