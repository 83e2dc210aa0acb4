package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/sentence"
)

// tellUpdate reports the outcome of the last update, once, to the room that asked.
func (b *Bot) tellUpdate(ctx context.Context) {
	if b.Updates == nil {
		return
	}
	res, untold := b.Updates.Result()
	if !untold {
		return
	}
	if res.Room != "" {
		if err := b.room(res.Room).tellResult(ctx, res); err != nil {
			b.log.Error().Err(err).Str("room", res.Room).Msg("cannot report the outcome of the update")
			return // the next start tries again
		}
	}
	if err := b.Updates.Told(); err != nil {
		b.log.Warn().Err(err).Msg("cannot record that the outcome was reported") // repeating it is harmless: the transaction ID is the same
	}
}

func (r *room) tellResult(ctx context.Context, res UpdateResult) error {
	asked := state.Event{Event: event.Event{Room: r.id, ID: res.Event}}
	if row, err := r.bot.Journal.Event(ctx, r.id, res.Event); err == nil {
		asked = row
	} else if !errors.Is(err, state.ErrNotFound) {
		return err
	}
	m := matrix.Notice(res.text(r.bot.snapshot(ctx, r.id)))
	m.RelatesTo = relate(originOf(asked), res.Event)
	return r.queue(ctx, r.out(state.KindUpdate, task.KeyOf(asked.Room, asked.ID)+"-updated", m))
}

// text describes the outcome of an update and whether everything is still there.
func (res UpdateResult) text(now Snapshot) string {
	if !res.Done {
		to := ""
		if res.To != "" {
			to = " to `" + res.To + "`"
		}
		return fmt.Sprintf("⚠️ The update%s failed: I am still running `%s`, and nothing has changed. %s%s", to, res.From, res.Why, fencedLines(res.Log))
	}
	text := fmt.Sprintf("✅ Updated from `%s` to `%s` in %s; I was away for %s. %s", res.From, res.To,
		text.Duration(res.Took), res.Down.Round(100*time.Millisecond), intact(res.Before, now))
	for i, s := range res.Subjects {
		if i == 0 {
			text += "\n"
		}
		text += "\n- " + s
	}
	return text
}

// intact compares the state before and after an update.
func intact(before, now Snapshot) string {
	var lost []string
	if now.Rooms < before.Rooms {
		lost = append(lost, fmt.Sprintf("only %d of %d rooms with a container are left", now.Rooms, before.Rooms))
	}
	if before.Container != "" && now.Container != before.Container {
		lost = append(lost, "this room has a different container (its volumes are kept)")
	}
	if now.Turns < before.Turns {
		lost = append(lost, fmt.Sprintf("only %d of %d turns of conversation are left", now.Turns, before.Turns))
	}
	if len(lost) > 0 {
		return "⚠️ Something is missing: " + strings.Join(lost, "; ") + "."
	}
	return fmt.Sprintf("Workspace and conversation are intact: %s, %s of conversation.",
		strings.ToLower(text.Plural(now.Rooms, "room with a container", "rooms with a container")), strings.ToLower(text.Plural(now.Turns, "turn", "turns")))
}

// logLines returns the log lines of an error as a code block.
func logLines(err error) string { return fencedLines(sentence.Lines(err)) }

func fencedLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n\n" + text.Fence(strings.Join(lines, "\n"))
}
