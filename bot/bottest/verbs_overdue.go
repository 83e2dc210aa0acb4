package bottest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// doOverdue waits until the time of all questions that wait in the rooms is over,
// by the bot's own record. Where a busy host was slow, the bot may have noticed that
// itself before it went down. It does not matter whether the bot runs.
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
			return fmt.Errorf("no question of %s waits or has waited for too long: %s", place, value)
		}
	}
	return nil
}
