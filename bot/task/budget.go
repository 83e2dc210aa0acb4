package task

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/state"
)

var errSpent = errors.New("the room's tokens for today are used up")

// Account makes the gateway and the memory record what each room uses of models, and refuse more than its tokens per
// day.
func (d *Deps) Account() {
	spend := func(room string, s state.Spending) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // also while the bot stops
		defer cancel()
		s.Day = time.Now()
		if err := d.Journal.Spend(ctx, room, s); err != nil {
			d.Log.Warn().Err(err).Str("room", room).Msg("cannot record the tokens of a request")
		}
	}
	d.Gateway.Account(d.allowed, func(room string, u gateway.Usage) {
		spend(room, state.Spending{Requests: u.Requests, Input: u.InputTokens, Cached: u.CachedTokens, Output: u.OutputTokens})
	})
	d.Recall.Account(d.allowed, func(room string, tokens int64) { spend(room, state.Spending{Requests: 1, Input: tokens}) })
}

// allowed returns why a room may not use the model now, or nil.
func (d *Deps) allowed(ctx context.Context, room string) error {
	limit := d.TokenLimit(room)
	if limit == 0 {
		return nil
	}
	today, err := d.Journal.Spent(ctx, room, time.Now())
	if err != nil {
		d.Log.Warn().Err(err).Str("room", room).Msg("cannot read the room's tokens")
		return errors.New("the room's tokens cannot be counted at the moment")
	}
	if today.Tokens() >= limit+today.Extra {
		return errSpent
	}
	return nil
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
func (b budget) question() agent.Signal {
	limit := text.Thousands(b.t.env.TokenLimit(b.t.env.ID))
	return agent.Signal{Kind: agent.Asked, Context: "the limit counts all tasks of this room, per day (UTC)",
		Question: "This room's " + limit + " tokens for today are used up. Continue?\n\n1. Yes, use up to " + limit + " more today\n2. No, stop here"}
}

// settle does what the answer to that question says, before the task runs again. A no is an outcome. The tokens are
// allowed in one transaction with the note that they are, so a crash does not allow them twice.
func (b budget) settle(ctx context.Context) (out agent.Outcome, err error) {
	t := b.t
	if t.rec.Budget == 0 || t.rec.Budget != len(t.exec.Answers) {
		return out, nil
	}
	err = t.decide(ctx, func() error {
		if !allowsMore(t.Given().Answer) {
			out = agent.Outcome{Ended: agent.Stopped, Detail: "Stopped: this room's tokens for today are used up. The work so far is in /workspace."}
			return nil
		}
		t.rec.Budget = 0
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
