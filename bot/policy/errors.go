package policy

import (
	"errors"
	"fmt"

	"matrix-tui/state/sentence"
)

// sayf is what somebody is told who wants to change the policy: nothing was
// changed, and what would be right.
func sayf(format string, args ...any) error {
	said := fmt.Sprintf(format, args...)
	return sentence.New(errors.New(said), said)
}
