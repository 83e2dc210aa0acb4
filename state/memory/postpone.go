package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// postponedExt is how the names of the lists of messages end that are still to be redacted.
const postponedExt = ".redactions"

// Postpone makes the next Open redact a message, because the index of its room cannot be changed now.
func Postpone(ctx context.Context, dir, room, event string) error {
	path := Path(dir, room) + postponedExt
	unlock, err := lockFolder(ctx, filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("postpone redaction: %w", err)
	}
	defer unlock()
	list, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("postpone redaction: %w", err)
	}
	_, err = list.WriteString(event + "\n")
	return errors.Join(err, list.Sync(), list.Close())
}

// redactPostponed redacts these messages, unless another process is still writing. The next Open tries again what
// fails.
func (x *Index) redactPostponed(ctx context.Context) {
	list := x.path + postponedExt
	if !exists(list) || x.Busy(ctx) {
		return
	}
	unlock, err := lockFolder(ctx, filepath.Dir(list))
	if err != nil {
		return
	}
	defer unlock()
	events, err := os.ReadFile(list)
	for event := range strings.FieldsSeq(string(events)) {
		if err == nil {
			_, err = x.Redact(ctx, event)
		}
	}
	if err == nil {
		_ = os.Remove(list) // otherwise they are redacted twice
	}
}
