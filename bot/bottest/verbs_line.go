package bottest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/event"
)

// doInLine queues N tasks of USER in ROOM, PREFIX 1 … PREFIX N, as if the bot, which must not be running, had received
// as many messages.
func doInLine(ctx context.Context, sc *script, _ bool, args []string) error {
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	if sc.bot.proc != nil && sc.bot.proc.Alive() {
		return errors.New("the bot runs")
	}
	journal, err := state.OpenJournal(ctx, filepath.Join(sc.state(), "journal.db"), zerolog.Nop())
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	events := make([]state.Event, n)
	for i := range events {
		events[i] = state.Event{Status: state.Pending, Event: event.Event{Room: room, ID: fmt.Sprint("$in-line-", i+1),
			Sender: p.ID(), Type: event.TypeMessage, Time: now}}
	}
	_, err = journal.Events.Commit(ctx, "", events)
	for i := 0; err == nil && i < n; i++ {
		err = journal.Tasks.Enqueue(ctx, state.Task{
			Key: fmt.Sprintf("%020x", i+1), Room: room, Event: events[i].ID, Home: room, Source: state.FromRoom,
			Requester: p.ID(), Time: now,
			Execution: fmt.Sprintf("00000000-0000-4000-8000-%012x", i+1), Text: fmt.Sprint(args[3], " ", i+1), Created: now,
			Updated: now,
		})
	}
	return errors.Join(err, journal.Close())
}
