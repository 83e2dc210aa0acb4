package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
)

// Why a room may not use the model. The agent recognises them by their words.
var (
	errSpent    = errors.New("the room's tokens for today are used up")
	errAllSpent = errors.New("the tokens of all rooms for today are used up")
)

// Account makes the gateway and the memory record what each room uses of models, and refuse more than its tokens per
// day.
func (d *Deps) Account() {
	spend := func(room string, s state.Spending) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // also while the bot stops
		defer cancel()
		s.Day = time.Now()
		if err := d.Journal.Budget.Add(ctx, room, s); err != nil {
			d.Log.Warn().Err(err).Str("room", room).Msg("cannot record the tokens of a request")
		}
		d.total.add(s.Day, s.Tokens())
	}
	d.Gateway.Account(d.allowed, func(room string, u gateway.Usage) {
		spend(room, state.Spending{Requests: u.Requests, Input: u.InputTokens, Cached: u.CachedTokens, Output: u.OutputTokens})
	})
	d.Recall.Account(func(ctx context.Context, room string) error { return d.allowed(ctx, room, 0) }, func(room string, tokens int64) { spend(room, state.Spending{Requests: 1, Input: tokens}) })
}

// allowed returns why a room may not use the model now, or nil. Its requests that are not answered yet may cost open tokens.
func (d *Deps) allowed(ctx context.Context, room string, open int64) error {
	limit, now := d.TokenLimit(room), time.Now()
	if d.TokensPerDayAll > 0 {
		all, err := d.total.of(now, func() (int64, error) { return d.Journal.Budget.ByAll(ctx, now) })
		if err != nil {
			d.Log.Warn().Err(err).Msg("cannot read the tokens of all rooms")
			return errors.New("the tokens of all rooms cannot be counted at the moment")
		}
		if all+open >= d.TokensPerDayAll {
			return errAllSpent
		}
	}
	if limit == 0 {
		return nil
	}
	today, err := d.Journal.Budget.On(ctx, room, now)
	if err != nil {
		d.Log.Warn().Err(err).Str("room", room).Msg("cannot read the room's tokens")
		return errors.New("the room's tokens cannot be counted at the moment")
	}
	if today.Tokens()+open >= limit+today.Extra {
		return errSpent
	}
	return nil
}

// total is what all rooms together have used on a day (UTC). The journal is asked once a day. The zero value is ready.
type total struct {
	mu     sync.Mutex
	day    string
	tokens int64
}

func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// of returns the tokens of the day of now; read returns what the journal has of it.
func (t *total) of(now time.Time, read func() (int64, error)) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.day != dayOf(now) {
		tokens, err := read()
		if err != nil {
			return 0, err
		}
		t.day, t.tokens = dayOf(now), tokens
	}
	return t.tokens, nil
}

// add adds tokens that the journal has now. A day that has not been read is left to it.
func (t *total) add(at time.Time, tokens int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.day == dayOf(at) {
		t.tokens += tokens
	}
}

// TokenLimit returns how many tokens a room may use on one day; 0 means no limit.
func (d *Deps) TokenLimit(room string) int64 {
	if own := d.Policy.Room(room).Tokens; own > 0 {
		return own
	}
	return d.TokensPerDay
}

// budget is the limit of tokens per day, as a task meets it.
type budget struct{ t *Task }

// question returns the question whether the room may use more tokens today. Its options can be selected by reaction.
func (b budget) question(ctx context.Context) (agent.Signal, error) {
	env := b.t.env
	today, err := env.Journal.Budget.On(ctx, env.ID, time.Now())
	limit := env.TokenLimit(env.ID)
	about := "The limit counts all tasks of this room, per day (UTC)."
	if today.Extra >= limit {
		about = "Only an owner of the bot can say yes now: the room has used twice its limit for today (UTC)."
	}
	return agent.Signal{Kind: agent.Asked, Context: about, Question: "This room's " + text.Thousands(limit+today.Extra) +
		" tokens for today are used up. Continue?\n\n1. Yes, use up to " + text.Thousands(limit) + " more today\n2. No, stop here"}, err
}

// grants reports whether the newest answer may allow more: beyond twice the limit, only that of an owner does.
func (b budget) grants(ctx context.Context) (bool, error) {
	env := b.t.env
	if slices.Contains(env.Owners, b.t.Given().By) {
		return true, nil
	}
	today, err := env.Journal.Budget.On(ctx, env.ID, time.Now())
	return today.Extra < env.TokenLimit(env.ID), err
}

// settle does what the answer to that question says, before the task runs again. A no is an outcome. The tokens are
// allowed in one transaction with the note that they are, so a crash does not allow them twice.
func (b budget) settle(ctx context.Context) (out agent.Outcome, err error) {
	t := b.t
	if t.rec.Budget == 0 || t.rec.Budget != len(t.exec.Answers) {
		return out, nil
	}
	grants, err := b.grants(ctx)
	if err != nil {
		return out, fmt.Errorf("read the room's tokens: %w", err)
	}
	err = t.decide(ctx, func() error {
		if !allowsMore(t.Given().Answer) {
			out = agent.Outcome{Ended: agent.Stopped, Detail: "Stopped: this room's tokens for today are used up. The work so far is in /workspace."}
			return nil
		}
		t.rec.Budget = 0
		if !grants {
			return t.env.Note(ctx, t.Row()) // and so the run is refused, and the question asked again
		}
		t.rec.Allowed += t.env.TokenLimit(t.env.ID)
		return t.env.Note(ctx, t.Row())
	})
	if errors.Is(err, errStopped) {
		return stoppedEarly(), nil
	}
	return out, err
}

// allowsMore reports whether an answer to that question lets the task go on: a yes in any of the words that the question
// and other messages of the bot suggest.
func allowsMore(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	if IsYes(answer) || strings.HasPrefix(answer, "1") || strings.HasPrefix(answer, "yes") {
		return true
	}
	words := strings.FieldsFunc(answer, func(c rune) bool { return !unicode.IsLetter(c) })
	words = slices.DeleteFunc(words, func(word string) bool { return word == "please" || word == "just" })
	return slices.Contains([]string{"continue", "go on", "go ahead", "keep going", "carry on", "sure"}, strings.Join(words, " "))
}
