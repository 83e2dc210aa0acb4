package bottest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// doOverdue waits until the deadlines of all questions in the rooms have passed, according to state.json. It does not
// matter whether the bot runs.
func doOverdue(ctx context.Context, sc *script, _ bool, args []string) error {
	for _, place := range args {
		value, err := sc.stateValue(".executions[" + place + "]")
		if err != nil {
			return err
		}
		var executions []struct {
			State    string    `json:"state"`
			Deadline time.Time `json:"deadline"`
		}
		if err := json.Unmarshal([]byte(value), &executions); err != nil {
			return fmt.Errorf("read executions of %s: %w", place, err)
		}
		for _, e := range executions {
			if e.State != "waiting_for_input" {
				continue
			}
			select {
			case <-time.After(time.Until(e.Deadline)):
			case <-ctx.Done():
				return fmt.Errorf("a question of %s has time until %s: %w", place, e.Deadline, ctx.Err())
			}
		}
		if len(executions) == 0 { // one that has ended already was overdue
			return fmt.Errorf("nothing ever waited in %s", place)
		}
	}
	return nil
}
