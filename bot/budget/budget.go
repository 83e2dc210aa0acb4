// Package budget counts what rooms use of models, and keeps them to their tokens per day. It decides about no task and
// sends nothing: the gateway and the memory ask it before each request, and tell it what a request has cost.
package budget

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent"
	"matrix-tui/agent/gemini"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/recall"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// Why a room may not use the model. The agent recognises them by their words.
var (
	errSpent    = errors.New("the room's tokens for today are used up")
	errAllSpent = errors.New("the tokens of all rooms for today are used up")
)

// Budget is the limit of tokens per day (UTC).
type Budget struct {
	PerDay  int64    // of a room without a limit of its own; 0 = no limit
	All     int64    // of all rooms together; 0 = no limit
	Owners  []string // user IDs of those who may allow more than twice a room's limit
	Journal *state.Journal
	Policy  *policy.Source
	Log     zerolog.Logger
}

// Account makes the gateway and the memory record what each room uses of models, and refuse more than its tokens per
// day.
func (b *Budget) Account(route *gemini.Route, memory *recall.Memory) {
	spend := func(room string, s state.Spending) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // also while the bot stops
		defer cancel()
		s.Day = time.Now()
		if err := b.Journal.Budget.Add(ctx, room, s); err != nil {
			b.Log.Warn().Err(err).Str("room", room).Msg("cannot record the tokens of a request")
		}
	}
	route.Account(b.allowed, func(room string, u gemini.Usage) {
		spend(room, state.Spending{
			Requests: u.Requests, Input: u.InputTokens, Cached: u.CachedTokens, Output: u.OutputTokens,
		})
	})
	memory.Account(
		func(ctx context.Context, room string) error { return b.allowed(ctx, room, 0) },
		func(room string, tokens int64) { spend(room, state.Spending{Requests: 1, Input: tokens}) },
	)
}

// allowed returns why a room may not use the model now, or nil. Its requests that are not answered yet may cost open
// tokens.
func (b *Budget) allowed(ctx context.Context, room string, open int64) error {
	limit, now := b.Limit(room), time.Now()
	if b.All > 0 {
		all, err := b.Journal.Budget.ByAll(ctx, now)
		if err != nil {
			b.Log.Warn().Err(err).Msg("cannot read the tokens of all rooms")
			return errors.New("the tokens of all rooms cannot be counted at the moment")
		}
		if all+open >= b.All {
			return errAllSpent
		}
	}
	if limit == 0 {
		return nil
	}
	today, err := b.Journal.Budget.On(ctx, room, now)
	if err != nil {
		b.Log.Warn().Err(err).Str("room", room).Msg("cannot read the room's tokens")
		return errors.New("the room's tokens cannot be counted at the moment")
	}
	if today.Tokens()+open >= limit+today.Extra {
		return errSpent
	}
	return nil
}

// Limit returns how many tokens a room may use on one day; 0 means no limit.
func (b *Budget) Limit(room string) int64 {
	if own := b.Policy.Room(room).Tokens; own > 0 {
		return own
	}
	return b.PerDay
}

// Question returns the question whether a room may use more tokens today. Its options can be selected by reaction.
func (b *Budget) Question(ctx context.Context, room string) (agent.Signal, error) {
	today, err := b.Journal.Budget.On(ctx, room, time.Now())
	limit := b.Limit(room)
	about := "The limit counts all tasks of this room, per day (UTC)."
	if today.Extra >= limit {
		about = "Only an owner of the bot can say yes now: the room has used twice its limit for today (UTC)."
	}
	return agent.Signal{Kind: agent.Asked, Context: about, Question: "This room's " + text.Thousands(limit+today.Extra) +
		" tokens for today are used up. Continue?\n\n1. Yes, use up to " + text.Thousands(limit) +
		" more today\n2. No, stop here"}, err
}

// Grants reports whether the answer of a user may allow more: beyond twice the limit, only that of an owner does.
func (b *Budget) Grants(ctx context.Context, room, user string) (bool, error) {
	if slices.Contains(b.Owners, user) {
		return true, nil
	}
	today, err := b.Journal.Budget.On(ctx, room, time.Now())
	return today.Extra < b.Limit(room), err
}
