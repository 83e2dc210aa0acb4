package policy

import (
	"errors"
	"fmt"

	"matrix-tui/state/sentence"
)

// sayf returns a sentence for somebody who wants to change the policy: nothing was changed, and what would be valid.
func sayf(format string, args ...any) error {
	said := fmt.Sprintf(format, args...)
	return sentence.New(errors.New(said), said)
}
