package bottest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// doOverdue waits until the deadlines of all questions in the rooms have passed, according to the journal. On a slow
// host the bot itself may have timed one out before it was stopped. It does not matter whether the bot runs.
func doOverdue(ctx context.Context, sc *script, _ bool, args []string) error {
	for _, place := range args {
		value, err := sc.stateValue(".executions[" + place + "]")
		if err != nil {
			return err
		}
		var executions []struct {
			State    string    `json:"state"`
			Deadline time.Time `json:"deadline"`
			Error    string    `json:"error_message"`
		}
		if err := json.Unmarshal([]byte(value), &executions); err != nil {
			return fmt.Errorf("read executions of %s: %w", place, err)
		}
		found := false
		for _, e := range executions {
			found = found || e.State == "waiting_for_input" || strings.HasPrefix(e.Error, "Timed out waiting")
			if e.State != "waiting_for_input" {
				continue
			}
			select {
			case <-time.After(time.Until(e.Deadline)):
			case <-ctx.Done():
				return fmt.Errorf("a question of %s has time until %s: %w", place, e.Deadline, ctx.Err())
			}
		}
		if !found {
			return fmt.Errorf("no question of %s is waiting or has timed out: %s", place, value)
		}
	}
	return nil
}
