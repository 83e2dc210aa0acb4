package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"matrix-tui/bot/admit"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
	"matrix-tui/state/sentence"
)

// ErrNoExecution means that there is no execution with this ID, or no longer.
// ErrNoRoom means that the bot is not in the room.
var (
	ErrNoExecution = errors.New("no such execution")
	ErrNoRoom      = errors.New("the bot is not in that room")
)

// errStarting is returned until the first sync is stored.
var errStarting = sentence.New(errors.New("the bot is starting"), "The bot is starting; try again in a moment")

// Programs is what programs use over HTTP.
type Programs struct{ bot *Bot }

// Programs returns what programs use over HTTP.
func (b *Bot) Programs() Programs { return Programs{b} }

// Submission is a task that a program submits by HTTP.
type Submission struct {
	Room       string
	Transcript string
	Commands   []string
	// Key identifies a submission that may be repeated; "" always makes a new one.
	Key string
}

// typeExecute is the type of the event that represents a task submitted by HTTP.
const typeExecute = event.OwnTypes + "execute"

// executeEvent returns the event ID of the row for a submitted execution.
func executeEvent(id string) string { return "$" + typeExecute + "-" + id }

// Execute queues a task as if it had been written in the room and returns its
// pending execution. It returns ErrNoRoom if the bot is not in the room, and
// execution.ErrLimit if the task is too large.
func (p Programs) Execute(ctx context.Context, s Submission) (json.RawMessage, error) {
	if !p.bot.work.Open.Load() {
		return nil, errStarting
	}
	joined, err := p.bot.roster.IsIn(ctx, s.Room)
	if err != nil {
		return nil, err
	}
	if !joined {
		return nil, ErrNoRoom
	}
	id := uuid.NewString()
	if s.Key != "" {
		id = task.ExecutionID(s.Room, "key:"+s.Key)
	}
	if raw, err := p.Execution(ctx, id); !errors.Is(err, ErrNoExecution) {
		return raw, err
	}
	now := time.Now().UTC()
	row := state.Event{Event: event.Event{Room: s.Room, ID: executeEvent(id), Sender: p.bot.UserID(), Type: typeExecute,
		Time: now}}
	rec, err := task.New(state.Task{Source: state.FromHTTP, Home: s.Room, Execution: id, Text: s.Transcript,
		Details: state.Details{Commands: s.Commands}}, row)
	if err != nil {
		return nil, err
	}
	r := p.bot.room(s.Room)
	t := r.env.Task(rec)
	if err := p.bot.Journal.Tasks.Submit(ctx, row, rec, r.env.Room.Render(ctx, t.Voice().Arrival())...); err != nil {
		return nil, fmt.Errorf("store submission: %w", err)
	}
	data, err := json.Marshal(t.Execution())
	if err != nil {
		return nil, fmt.Errorf("marshal execution: %w", err)
	}
	r.outbox.Wake()
	r.turn.Wake()
	return data, nil
}

// Execution returns the current state of an execution, or ErrNoExecution.
func (p Programs) Execution(ctx context.Context, id string) (json.RawMessage, error) {
	rec, err := p.execution(ctx, id)
	if err != nil {
		return nil, err
	}
	return json.Marshal(task.ExecutionOf(rec))
}

func (p Programs) execution(ctx context.Context, id string) (state.Task, error) {
	rec, err := p.bot.Journal.Tasks.ByExecution(ctx, id)
	if errors.Is(err, state.ErrNotFound) {
		err = ErrNoExecution
	}
	return rec, err
}

// Reply is a program's answer to the question of an execution.
type Reply struct {
	Answer   string
	Question int    // the number of the question, from 1; 0 is the open one
	Key      string // identifies a request that may be repeated; "" is none
}

// Resume answers the question of an execution and returns the execution. It returns
// ErrNoExecution for an unknown ID, an *execution.TransitionError if the execution is not
// waiting for that answer, and execution.ErrLimit for an answer that is empty or too long.
func (p Programs) Resume(ctx context.Context, id string, reply Reply) (json.RawMessage, error) {
	if !p.bot.work.Open.Load() {
		return nil, errStarting
	}
	rec, err := p.execution(ctx, id)
	if err != nil {
		return nil, err
	}
	given := execution.Answer{Answer: strings.TrimSpace(reply.Answer)}
	if reply.Key != "" {
		given.Key = state.Hash(reply.Key)
	}
	t, err := p.bot.room(rec.Room).decider.Resume(ctx, rec.Key, given, reply.Question)
	if err != nil {
		return nil, err
	}
	return json.Marshal(t.Execution())
}

// Health is the result of a health check.
type Health struct {
	Synced time.Time // when the newest sync batch was stored; zero before the first
	Err    error     // what is wrong, or nil; the text may be shown to anybody
}

// maxSilence is the maximum age of a healthy bot's newest sync.
const maxSilence = 2*admit.SyncTimeout + time.Minute

// Waiting reports whether the bot waits for the homeserver to answer: see
// [matrix.Account.Waiting].
func (b *Bot) Waiting() bool { return b.account.Waiting() }

// Stalled says what a person must do before the bot can continue; "" is nothing.
func (b *Bot) Stalled() string {
	if b.account.Ended() {
		return matrix.EndedText
	}
	return ""
}

// Alive checks that the bot itself is not stuck: the journal answers, and the bot waits
// for the homeserver or has worked on a batch recently. Only a batch that is being
// stored may keep the journal busy.
func (b *Bot) Alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	since := time.Since(b.admission.Worked.Last())
	if _, err := b.Journal.Events.NextBatch(ctx); err != nil &&
		(since > maxSilence || !errors.Is(err, context.DeadlineExceeded)) {
		return fmt.Errorf("read journal: %w", err)
	}
	if since > maxSilence && !b.Waiting() {
		return fmt.Errorf("no progress with syncing for %s", since.Round(time.Second))
	}
	return nil
}

// Health checks the homeserver's answers and the journal.
func (p Programs) Health(ctx context.Context) Health {
	h := Health{Synced: p.bot.admission.Synced.Last()}
	if _, err := p.bot.Journal.Events.NextBatch(ctx); err != nil {
		h.Err = errors.New("cannot read the journal")
	} else if h.Synced.IsZero() {
		h.Err = errors.New("no sync has succeeded yet")
	} else if time.Since(h.Synced) > maxSilence {
		h.Err = errors.New(cmp.Or(p.bot.Stalled(), "the homeserver does not answer"))
	}
	return h
}
