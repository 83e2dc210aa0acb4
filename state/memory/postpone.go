package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PostponedExt is how the names of the lists of messages end that are still to be redacted.
const PostponedExt = ".redactions"

// Postpone makes the next Open redact a message, because the index of its room cannot be changed now.
func Postpone(ctx context.Context, dir, room, event string) error {
	path := Path(dir, room) + PostponedExt
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
	list := x.path + PostponedExt
	if !exists(list) || x.Busy(ctx) {
		return
	}
	unlock, err := lockFolder(ctx, filepath.Dir(list))
	if err != nil {
		return
	}
	defer unlock()
	events, err := postponed(x.path)
	for _, event := range events {
		if err == nil {
			_, err = x.Redact(ctx, event)
		}
	}
	if err == nil {
		_ = os.Remove(list) // otherwise they are redacted twice
	}
}

// postponed returns the messages that are still to be redacted in the index with this path.
func postponed(path string) ([]string, error) {
	list, err := os.ReadFile(path + PostponedExt)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read postponed redactions: %w", err)
	}
	return strings.Fields(string(list)), nil
}

// copyPostponed lets the messages that are still to be redacted in one index be redacted also in another, which gets its
// content.
func copyPostponed(ctx context.Context, dir, from, to string) error {
	events, err := postponed(Path(dir, from))
	known, failed := postponed(Path(dir, to))
	err = errors.Join(err, failed)
	for _, event := range events {
		if err == nil && !slices.Contains(known, event) {
			err = Postpone(ctx, dir, to, event)
		}
	}
	if err != nil {
		return explain(fmt.Errorf("move memory: %w", err), Path(dir, to))
	}
	return nil
}

// hidden is what nobody may be shown, although the index still has it: messages that are to be redacted, and the lines
// that come from them.
type hidden struct {
	events map[string]bool
	texts  map[string]bool // by hash
}

func (h hidden) has(e Entry) bool {
	return len(h.events) > 0 && (h.events[e.Event] || h.texts[string(hashOf(e.Text))])
}

// hidePostponed hides what redactPostponed has left.
func (x *Index) hidePostponed(ctx context.Context) error {
	events, err := postponed(x.path)
	if err != nil || len(events) == 0 {
		return err
	}
	lines, err := readLines(ctx, x.db, "event <> ''")
	if err != nil {
		return err
	}
	x.hidden = hidden{map[string]bool{}, map[string]bool{}}
	for _, event := range events {
		x.hidden.events[event] = true
	}
	for _, l := range lines {
		if slices.ContainsFunc(strings.Fields(l.Event), func(event string) bool { return x.hidden.events[event] }) {
			x.hidden.texts[string(hashOf(l.Text))] = true
		}
	}
	return nil
}
