package bot

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"matrix-tui/bot/budget"
	"matrix-tui/bot/capacity"
	"matrix-tui/bot/container"
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
	return r.outbox.Queue(ctx, r.Render(ctx, out...)...)
}

// Types is part of [task.Room].
func (r taskRoom) Types(user string) bool { return r.typing.Is(user) }

// Wake is part of [task.Room].
func (r taskRoom) Wake() { r.outbox.Wake() }

// Render is part of [task.Room].
func (r taskRoom) Render(ctx context.Context, out ...task.Message) []state.Message {
	var rows []state.Message
	for _, m := range out {
		m.Room = r.id
		r.relate(ctx, &m)
		r.mention(ctx, &m)
		if m.Long == nil {
			rows = append(rows, m.Message)
		} else {
			rows = append(rows, r.long(ctx, m)...)
		}
	}
	return rows
}

// relate makes a message no reply if it need not be one, because nothing else has been said in between.
func (r taskRoom) relate(ctx context.Context, m *task.Message) {
	if m.Since == "" {
		return
	}
	if said, err := r.bot.Journal.Messages.SaidAfter(ctx, r.id, m.Since, r.bot.UserID(), m.Task, m.Parts); err == nil &&
		!said {
		m.Relation, m.Target, m.About = "", "", ""
	}
}

// mention makes a message notify one user. In a room of two, every message does.
func (r taskRoom) mention(ctx context.Context, m *task.Message) {
	if m.Mention == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if alone, err := r.bot.roster.WillBeAlone(ctx, r.id); err != nil || !alone {
		m.Mentions = []string{m.Mention}
	}
}

// long returns the rows of a text of any length. One that is too long for a few messages becomes its beginning and a
// file.
func (r taskRoom) long(ctx context.Context, m task.Message) []state.Message {
	name := m.Long.Name + ".md"
	parts, file, err := matrix.Long(m.Long.Before+m.Body, m.Long.Name, m.Body, func() (event.FileInfo, error) {
		call, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return r.upload(call, name, m.Body)
	})
	if err != nil {
		r.bot.log.Warn().Err(err).Str("room", r.id).Msg("cannot upload " + m.Long.Name)
	}
	rows := make([]state.Message, len(parts), len(parts)+1)
	for i, part := range parts {
		rows[i] = m.Message
		if rows[i].Body = part; i < len(parts)-1 {
			rows[i].Details, rows[i].Small = "", ""
		}
	}
	if file != nil {
		one := m.Message
		one.Body, one.File, one.Notice, one.Details, one.Small = name, file, false, "", ""
		rows = append(rows, one)
	}
	for i := range rows {
		if i > 0 {
			rows[i] = rows[i].Following()
			rows[i].Kind, rows[i].Txn, rows[i].Mentions = m.Long.Kind, m.Long.Txn+strconv.Itoa(i), nil
		}
		if m.Kind == state.KindFinal { // the parts of a result are numbered
			rows[i].Number = i
		}
	}
	return rows
}

// upload uploads a text as a file, encrypted if the room is.
func (r taskRoom) upload(ctx context.Context, name, words string) (event.FileInfo, error) {
	encrypted, err := r.bot.account.Keys.IsEncrypted(ctx, r.id)
	if err != nil {
		return event.FileInfo{}, err
	}
	return r.bot.account.Messages.Upload(ctx, strings.NewReader(words),
		event.FileInfo{MimeType: "text/markdown", Size: int64(len(words))}, name, encrypted)
}

// Fits is part of [task.Room].
func (r taskRoom) Fits(words string) bool { return matrix.FitsNotice(words) }

// FitsHalf is part of [task.Room].
func (r taskRoom) FitsHalf(words string) bool { return matrix.FitsHalf(words) }

// Edit is part of [task.Room].
func (r taskRoom) Edit(ctx context.Context, txn, words string) bool {
	sent, err := r.bot.Journal.Messages.Get(ctx, txn)
	if err != nil || sent.Event == "" {
		return false
	}
	_, err = r.bot.account.Messages.Send(ctx, state.Message{Room: r.id, Relation: state.Edit, Target: sent.Event,
		Notice: true, Body: words})
	if err != nil {
		r.bot.log.Debug().Err(err).Str("room", r.id).Msg("cannot edit the progress notice")
		_ = retry.Sleep(ctx, matrix.RetryAfter(err, 0))
	}
	return true
}

// Type is part of [task.Room].
func (r taskRoom) Type(ctx context.Context, d time.Duration) error {
	return r.bot.account.Messages.Type(ctx, r.id, d)
}

// Proof is part of [task.Room]. What cannot be found out counts as required.
func (r taskRoom) Proof(ctx context.Context) task.Proof {
	encrypted, err := r.bot.account.Keys.IsEncrypted(ctx, r.id)
	must, failed := r.bot.proof.Needed(ctx, r.id, policy.ProofApprovals)
	all, _ := r.bot.proof.Needed(ctx, r.id, policy.ProofAll)
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
	warm := container.NewWarm(b.WarmAgents, b.WarmTime)
	keeper := &capacity.Keeper{Podman: b.Podman, Store: b.Store, Journal: b.Parts.Journal,
		Asks: func(room string) bool { return b.waits.Count(room) > 0 }, Stopped: warm.Forget, Idle: b.Idle,
		Max: b.MaxContainers, StateDir: b.StateDir, Reserve: b.DiskReserve, Log: b.log}
	return &task.Deps{
		Config: task.Config{
			Tmp: tmp(b.StateDir), Fresh: b.Fresh, CodingTimeout: b.CodingTimeout, ExecutionTimeout: b.ExecutionTimeout,
			QuotaWait: b.QuotaWait, NotifyQuestion: b.NotifyQuestion, NotifyComplete: b.NotifyComplete,
			Debounce: b.Debounce, MediaMax: b.MediaMax, PageURL: b.PageURL,
		},
		Shared: container.Shared{
			Limits:   container.Limits{Memory: b.Memory, CPUs: b.CPUs, PIDs: b.PIDs, Files: b.Files},
			StateDir: b.StateDir, Image: b.Image, Runtime: b.Runtime, Model: b.Model, Zone: b.Zone,
			Journal: b.Parts.Journal, Store: b.Store, Podman: b.Podman, Keeper: keeper.Prepare(), Gateway: b.Gateway,
			Models: b.Models, Policy: b.policy, Parker: b.Agent, Warm: warm, Group: &b.work, Log: b.log,
		},
		Budget: &budget.Budget{
			PerDay: b.TokensPerDay, All: b.TokensPerDayAll, Owners: b.Owners, Journal: b.Parts.Journal, Policy: b.policy,
			Log: b.log,
		},
		Transcripts: b.Transcripts, Agent: b.Agent, Route: b.Route, Recall: b.Recall, Waits: b.waits, Count: b.count,
		Slots: semaphore.NewWeighted(int64(b.MaxParallel)), Transfers: semaphore.NewWeighted(maxTransfers),
		Clock: &b.clock,
	}
}
