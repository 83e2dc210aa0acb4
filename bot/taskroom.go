package bot

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"matrix-tui/bot/capacity"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// taskRoom is a room as its tasks see it: it turns their messages into Matrix events
// and answers their questions about the room. It implements [task.Room].
type taskRoom struct{ *room }

// Queue is part of [task.Room].
func (r taskRoom) Queue(ctx context.Context, out ...task.Message) error {
	return r.queue(ctx, r.Render(ctx, out...)...)
}

// Wake is part of [task.Room].
func (r taskRoom) Wake() { r.outbox.Wake() }

// Render is part of [task.Room].
func (r taskRoom) Render(ctx context.Context, out ...task.Message) []state.Message {
	var rows []state.Message
	for _, m := range out {
		from := len(rows)
		switch {
		case m.Reaction != "":
			rows = append(rows, r.row(m, event.TypeReaction, matrix.Reaction(m.About, m.Reaction, m.Txn), ownTxn(m.About)))
		case m.Redacts != "":
			rows = append(rows, r.row(m, event.TypeRedaction, matrix.Redaction(state.AboutRef(m.Redacts)), m.Redacts))
		case m.Long != nil:
			rows = append(rows, r.long(ctx, m)...)
		default:
			rows = append(rows, r.out(m.Kind, m.Txn, r.short(ctx, m)))
		}
		for i := from; i < len(rows); i++ {
			rows[i].Task, rows[i].Number = m.Task, m.Number
			if m.Kind == state.KindFinal { // the parts of a result are numbered
				rows[i].Number = i - from
			}
		}
	}
	return rows
}

// row returns the row of a message that is not text.
func (r taskRoom) row(m task.Message, eventType string, content json.RawMessage, about string) state.Message {
	return state.Message{Txn: m.Txn, Room: r.id, Kind: m.Kind, Type: eventType, Content: content, About: about}
}

// short returns a message whose text fits into one event.
func (r taskRoom) short(ctx context.Context, m task.Message) *message {
	c := matrix.Text(m.Text)
	if m.Notice {
		c = matrix.Notice(m.Text)
	}
	if m.Details != "" {
		c.Fold(m.Details)
	}
	switch {
	case m.Edits != "":
		c = matrix.Edit(state.AboutRef(m.Edits), c)
	case m.About != "":
		c.RelatesTo = r.relation(ctx, m)
	}
	r.mention(ctx, c, m.Mention)
	return c
}

// relation returns the relation of a message to what it is about. It is nil if the message need not be a reply, because
// nothing else has been said in between.
func (r taskRoom) relation(ctx context.Context, m task.Message) *matrix.RelatesTo {
	rel := relate(m.Origin, m.About)
	if rel == nil || m.Since == "" || m.Origin.Thread != "" || m.Origin.Moved {
		return rel
	}
	said, err := r.bot.Journal.SaidAfter(ctx, r.id, m.Since, r.bot.UserID(), m.Task, m.Parts)
	if err != nil || said {
		return rel
	}
	return nil
}

// mention makes a message notify one user; "" is nobody. In a room of two, every message does.
func (r taskRoom) mention(ctx context.Context, c *message, user string) {
	if user == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if alone, err := r.bot.willBeAlone(ctx, r.id); err != nil || !alone {
		c.Mentions = &matrix.Mentions{UserIDs: []string{user}}
	}
}

// long returns the rows of a text of any length, as text messages or as notices. A
// text that is too long for a few messages becomes its beginning and a file.
func (r taskRoom) long(ctx context.Context, m task.Message) []state.Message {
	messages := r.parts(ctx, m)
	messages[0].RelatesTo = r.relation(ctx, m)
	last := messages[0] // of text
	for _, c := range messages[1:] {
		if c.RelatesTo = follows(m.Origin); c.MsgType != matrix.MsgFile {
			last = c
		}
	}
	if m.Small != "" {
		last.Small(m.Small, m.Details)
	}
	r.mention(ctx, messages[0], m.Mention)
	rows := make([]state.Message, len(messages))
	for i, c := range messages {
		if m.Notice && c.MsgType == matrix.MsgText {
			c.MsgType = matrix.MsgNotice
		}
		kind, txn := m.Kind, m.Txn
		if i > 0 {
			kind, txn = m.Long.Kind, m.Long.Txn+strconv.Itoa(i)
		}
		rows[i] = r.out(kind, txn, c)
	}
	return rows
}

// parts splits a long text into messages.
func (r taskRoom) parts(ctx context.Context, m task.Message) []*message {
	messages, err := matrix.Long(m.Long.Before+m.Text, m.About, m.Long.Name, m.Text, func() (*message, error) {
		return r.bot.account.UploadText(ctx, r.id, m.Long.Name+".md", m.Text)
	})
	if err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot upload " + m.Long.Name)
	}
	return messages
}

// Fits is part of [task.Room].
func (r taskRoom) Fits(words string) bool { return matrix.FitsNotice(words) }

// FitsHalf is part of [task.Room].
func (r taskRoom) FitsHalf(words string) bool { return matrix.FitsHalf(words) }

// Edit is part of [task.Room].
func (r taskRoom) Edit(ctx context.Context, txn, words string) bool {
	sent, err := r.bot.Journal.Message(ctx, txn)
	if err != nil || sent.Event == "" {
		return false
	}
	_, err = r.bot.account.Send(ctx, r.id, event.TypeMessage, "", matrix.Edit(sent.Event, matrix.Notice(words)))
	if err != nil {
		r.bot.log.Debug().Err(err).Str("room", r.id).Msg("cannot edit the progress notice")
		_ = retry.Sleep(ctx, matrix.RetryAfter(err, 0))
	}
	return true
}

// Type is part of [task.Room].
func (r taskRoom) Type(ctx context.Context, d time.Duration) error {
	return r.bot.account.Type(ctx, r.id, d)
}

// Proof is part of [task.Room]. What cannot be found out counts as required.
func (r taskRoom) Proof(ctx context.Context) task.Proof {
	encrypted, err := r.bot.account.IsEncrypted(ctx, r.id)
	must, failed := r.mustProve(ctx, policy.ProofApprovals)
	all, _ := r.mustProve(ctx, policy.ProofAll)
	must = must || failed != nil
	return task.Proof{Code: encrypted || err != nil || must, Clear: must && err == nil && !encrypted, Words: all}
}

// Link is part of [task.Room]. The matrix.to link names our server, the user's and
// the one in the room's ID as servers to join through.
func (r taskRoom) Link(room, eventID, user string) string {
	var via []string
	for _, name := range []string{r.bot.UserID(), user, room} {
		if _, server, ok := strings.Cut(name, ":"); ok && !slices.Contains(via, server) {
			via = append(via, server)
		}
	}
	return matrix.LinkTo(room, eventID, via...)
}

// maxTransfers is the number of tasks that may transfer files at the same time, in all
// rooms together.
const maxTransfers = 2

// deps returns the dependencies of the tasks in all rooms.
func (b *Bot) deps() *task.Deps {
	warm := task.NewWarm(b.WarmAgents, b.WarmTime)
	keeper := &capacity.Keeper{Podman: b.Podman, Store: b.Store, Journal: b.Parts.Journal, Asks: func(room string) bool { return b.waits.Count(room) > 0 }, Stopped: warm.Forget, Idle: b.Idle, Max: b.MaxContainers, StateDir: b.StateDir, Reserve: b.DiskReserve, Log: b.log}
	return &task.Deps{
		Config: task.Config{
			StateDir: b.StateDir, Tmp: b.tmp(), Version: b.Version,
			Image: b.Image, Memory: b.Memory, CPUs: b.CPUs, PIDs: b.PIDs, Files: b.Files, Runtime: b.Runtime,
			Model: b.Model, Zone: b.Zone, TokensPerDay: b.TokensPerDay, TokensPerDayAll: b.TokensPerDayAll, Owners: b.Owners, Fresh: b.Fresh, CodingTimeout: b.CodingTimeout, ExecutionTimeout: b.ExecutionTimeout, QuotaWait: b.QuotaWait,
			NotifyQuestion: b.NotifyQuestion, NotifyComplete: b.NotifyComplete, Debounce: b.Debounce, MediaMax: b.MediaMax,
		},
		Journal: b.Parts.Journal, Store: b.Store, Transcripts: b.Transcripts, Podman: b.Podman, Keeper: keeper.Prepare(), Gateway: b.Gateway, Models: b.Models, Agent: b.Agent,
		Policy: b.policy, Recall: b.Recall, Waits: b.waits, Warm: warm, Count: b.count,
		Slots: task.NewSlots(b.MaxParallel), Transfers: semaphore.NewWeighted(maxTransfers),
		Start: b.start, Sentence: b.sentence, Now: b.now, In: b.in, Log: b.log,
	}
}
