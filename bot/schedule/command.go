package schedule

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"matrix-tui/state"
)

// usage says how to write !schedule.
const usage = "Ask me in plain words, or write `!schedule in 20m TEXT`, " +
	"`!schedule at 14:30 TEXT`, `!schedule every 2h TEXT` or `!schedule cron 0 8 * * 1-5 TEXT`. " +
	"`!schedule 1 pause`, `resume`, `now` and `remove` act on #1; `!schedule 1 at 15:00` changes its times, " +
	"`!schedule 1 missed once`, `skip` or `all` what happens with runs that I miss, and `!schedule 1 gate COMMAND` lets " +
	"it run only if the command succeeds in the container."

// Command does what the argument of !schedule says. It returns an answer if it has told the room nothing. The error is
// one of the journal.
func (b *Book) Command(ctx context.Context, said string) (answer string, err error) {
	answer, err = b.command(ctx, strings.TrimSpace(said))
	if refused := Refused(""); errors.As(err, &refused) {
		return strings.ToUpper(string(refused[:1])) + strings.TrimSuffix(string(refused[1:]), ".") + ".", nil
	}
	return answer, err
}

func (b *Book) command(ctx context.Context, said string) (answer string, err error) {
	if said == "" {
		return b.List(ctx)
	}
	word, rest := cut(said)
	number, wrong := strconv.Atoi(strings.TrimPrefix(word, "#"))
	if wrong != nil {
		when, rest, err := parse(word, rest, b.Now, b.zone())
		if err == nil {
			_, err = b.Add(ctx, state.Entry{When: when, Text: rest})
		}
		return "", err
	}
	e, err := b.get(ctx, number)
	if err != nil {
		return "", err
	}
	verb, rest := cut(rest)
	if verb == "" {
		return line(e, b.zone()), nil
	}
	return "", b.act(ctx, e, strings.ToLower(verb), rest)
}

// act does something with an entry.
func (b *Book) act(ctx context.Context, was state.Entry, verb, rest string) error {
	e := was
	switch verb {
	case "remove":
		_, err := b.Remove(ctx, e.Number)
		return err
	case "now":
		return b.now(ctx, e)
	case "pause":
		e.Paused = b.Env.NameOf(b.User) + " has paused it."
	case "resume": // whoever says it answers for it now
		e.Paused, e.Failures, e.By = "", 0, b.User
		plan(&e, b.Env, b.Now)
	case "missed":
		e.Missed = state.Missed(strings.ToLower(rest))
	case "gate":
		e.Gate = rest
	default:
		when, more, err := parse(verb, rest, b.Now, b.zone())
		if err != nil {
			return err
		}
		e.When, e.Text = when, cmp.Or(more, e.Text)
		plan(&e, b.Env, b.Now)
	}
	return b.set(ctx, was, e)
}

// List lists the entries of the room, for people.
func (b *Book) List(ctx context.Context) (string, error) {
	all, err := b.Env.Journal.Schedule.In(ctx, b.Env.ID)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "Nothing is scheduled here. " + usage, nil
	}
	lines := []string{"Scheduled here:"}
	for _, e := range all {
		lines = append(lines, line(e, b.zone()))
	}
	return strings.Join(lines, "\n"), nil
}
