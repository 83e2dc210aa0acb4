package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"matrix-tui/bot/alert"
	"matrix-tui/state/execution"
)

// tellSalvage tells the owners what was saved from a damaged journal. It first restores
// from state.json which messages were answered: if the journal has lost them, they may
// arrive again.
func (b *Bot) tellSalvage(ctx context.Context) error {
	report, err := b.Journal.Salvage(ctx)
	if err != nil || report == nil {
		return err
	}
	if !report.Whole() {
		for _, room := range b.Store.Rooms() {
			if err := b.Journal.Decided(ctx, room, b.answeredIn(room)...); err != nil {
				return fmt.Errorf("restore answered events: %w", err)
			}
		}
	}
	b.watch.Note(alert.Salvaged(report))
	return b.Journal.ForgetSalvage(ctx)
}

// answeredIn returns the events in a room that state.json knows to be answered.
func (b *Bot) answeredIn(room string) (events []string) {
	for _, turn := range b.Store.History(room) {
		if strings.HasPrefix(turn.Event, "$") { // not a question of ours
			events = append(events, turn.Event)
		}
	}
	for _, raw := range b.Store.Executions(room) {
		var e execution.Execution
		if json.Unmarshal(raw, &e) == nil && e.TaskEvent != "" {
			events = append(events, e.TaskEvent)
		}
	}
	return events
}

// tellReplaced tells the owners that the keys were in a damaged file.
func (b *Bot) tellReplaced(file string) {
	b.watch.Note(alert.KeysReplaced(file, b.AccessToken == "" && b.Password != ""))
}
