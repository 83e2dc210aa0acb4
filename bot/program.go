package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"matrix-tui/agent"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/sentence"
)

// ErrNoExecution is an execution that is not known, or no longer; ErrNoRoom is
// a room that the bot is not in.
var (
	ErrNoExecution = errors.New("no such execution")
	ErrNoRoom      = errors.New("the bot is not in that room")
)

// errStarting is a bot that does not take anything yet.
var errStarting = sentence.New(errors.New("the bot is starting"), "The bot is starting; try again in a moment")

// Submission is a task that a program gives, by HTTP. Source: seed 000,
// "ExecutePayload"; the room is ours.
type Submission struct {
	Room       string
	Transcript string
	Commands   []string
	// Key makes it the same submission when it comes again; "" is a new one.
	Key string
}

// executeEvent is the event ID of the row of a submitted execution.
func executeEvent(id string) string { return "$" + typeExecute + "-" + id }

// Execute takes a task up as one that was written in the room, and returns its
// execution, pending. It is ErrNoRoom when the bot is not there, and a
// agent.ErrLimit for a task that is too large.
func (b *Bot) Execute(ctx context.Context, s Submission) (json.RawMessage, error) {
	if !b.isOpen.Load() {
		return nil, errStarting
	}
	joined, err := b.isIn(ctx, s.Room)
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
	if raw, err := b.Execution(id); err == nil {
		return raw, nil
	}
	now := time.Now().UTC()
	row := state.Event{Event: event.Event{Room: s.Room, ID: executeEvent(id), Sender: b.UserID(), Type: typeExecute, Time: now}}
	rec, err := task.New(state.Task{Source: state.FromHTTP, Home: s.Room, Execution: id, Text: s.Transcript, Details: state.Details{Commands: s.Commands}}, row)
	if err != nil {
		return nil, err
	}
	r := b.room(s.Room)
	t := r.env.Task(rec)
	if err := b.Journal.Submit(ctx, row, rec, r.env.Room.Render(ctx, t.Voice().Arrival())...); err != nil {
		return nil, fmt.Errorf("store submission: %w", err)
	}
	r.env.ProjectSoon(ctx, rec.Key)
	data, err := json.Marshal(t.Execution())
	if err != nil {
		return nil, fmt.Errorf("marshal execution: %w", err)
	}
	r.outbox.Wake()
	r.tasks.Wake()
	return data, nil
}

// isIn asks the homeserver whether we are in a room.
func (b *Bot) isIn(ctx context.Context, room string) (bool, error) {
	if !strings.HasPrefix(room, "!") {
		return false, nil
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	joined, err := b.account.IsIn(call, room)
	if err != nil {
		return false, sentence.New(fmt.Errorf("list rooms: %w", err), "The homeserver does not answer at the moment; try again in a minute")
	}
	return joined, nil
}

// Execution is an execution as it stands, or ErrNoExecution.
func (b *Bot) Execution(id string) (json.RawMessage, error) {
	_, raw, ok := b.Store.Execution(id)
	if !ok {
		return nil, ErrNoExecution
	}
	return raw, nil
}

// Resume answers the question of an execution, and returns the execution. It is
// ErrNoExecution for one that is not known, a *agent.TransitionError for one
// that does not wait, and agent.ErrLimit for an answer that is none.
func (b *Bot) Resume(ctx context.Context, id, answer string) (json.RawMessage, error) {
	if !b.isOpen.Load() {
		return nil, errStarting
	}
	raw, err := b.Execution(id)
	if err != nil {
		return nil, err
	}
	rec, err := b.Journal.TaskByExecution(ctx, id)
	if errors.Is(err, state.ErrNotFound) { // the journal has forgotten what is long over
		var e agent.Execution
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("read execution %s: %w", id, err)
		}
		return nil, &agent.TransitionError{ID: id, From: e.State, To: agent.Running}
	}
	if err != nil {
		return nil, err
	}
	t, err := b.room(rec.Room).resume(ctx, rec.Key, agent.Answer{Answer: strings.TrimSpace(answer)})
	if err != nil {
		return nil, err
	}
	return json.Marshal(t.Execution())
}

// Health is how the bot is.
type Health struct {
	Synced time.Time // when the newest batch of the homeserver was stored; zero before the first
	Err    error     // what is wrong, nil for nothing; its words are fit to be shown
}

// maxSilence is how old the newest sync of a healthy bot may be.
const maxSilence = 2*syncTimeout + time.Minute

// Alive tells whether the bot itself goes on: it holds no lock for ever, its
// journal answers, and it has asked for news not long ago, whatever the answer.
func (b *Bot) Alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := b.Journal.NextBatch(ctx); err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	if since := time.Since(b.asked.Last()); since > maxSilence {
		return fmt.Errorf("nothing was asked of the homeserver for %s", since.Round(time.Second))
	}
	return nil
}

// Health looks at what the bot cannot do without: the homeserver's answers and
// the journal.
func (b *Bot) Health(ctx context.Context) Health {
	h := Health{Synced: b.synced.Last()}
	if _, err := b.Journal.NextBatch(ctx); err != nil {
		h.Err = errors.New("the journal cannot be read")
	} else if h.Synced.IsZero() {
		h.Err = errors.New("nothing has come from the homeserver yet")
	} else if time.Since(h.Synced) > maxSilence {
		h.Err = errors.New("the homeserver does not answer")
	}
	return h
}
