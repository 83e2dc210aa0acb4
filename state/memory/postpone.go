package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"matrix-tui/bot/crash"
)

const (
	// PostponedExt is how the names of the lists of messages end that are still to be redacted.
	PostponedExt = ".redactions"
	// EditsExt is how those of the lists of edits end that are still to be made.
	EditsExt = ".edits"
)

// Postpone makes the next Open redact a message, because the index of its room cannot be changed now.
func Postpone(ctx context.Context, dir, room, event string) error {
	if err := postpone(ctx, Path(dir, room)+PostponedExt, event); err != nil {
		return fmt.Errorf("postpone redaction: %w", err)
	}
	return nil
}

// PostponeEdit keeps an edit until PostponedEdits, because the index of its room cannot be changed now.
func PostponeEdit(ctx context.Context, dir, room string, edit any) error {
	line, err := json.Marshal(edit)
	if err == nil {
		err = postpone(ctx, Path(dir, room)+EditsExt, string(line))
	}
	if err != nil {
		return fmt.Errorf("postpone edit: %w", err)
	}
	return nil
}

// postpone adds a line to a list.
func postpone(ctx context.Context, path, line string) error {
	unlock, err := lockFolder(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	list, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	crash.Count("append postponed change")
	_, err = list.WriteString(line + "\n")
	return errors.Join(err, list.Sync(), list.Close())
}

// redactPostponed redacts these messages.
func (x *Index) redactPostponed(ctx context.Context) {
	x.catchUp(ctx, PostponedExt, func(event string) error {
		_, err := x.Redact(ctx, event)
		return err
	})
}

// PostponedEdits makes the edits that were kept, the oldest first.
func (x *Index) PostponedEdits(ctx context.Context, do func(edit []byte) error) {
	x.catchUp(ctx, EditsExt, func(line string) error { return do([]byte(line)) })
}

// catchUp does what is on a list, unless another process is still writing. The next Open tries again what fails, all of
// it.
func (x *Index) catchUp(ctx context.Context, ext string, do func(line string) error) {
	list := x.path + ext
	if !exists(list) || x.Busy(ctx) {
		return
	}
	unlock, err := lockFolder(ctx, filepath.Dir(list))
	if err != nil {
		return
	}
	defer unlock()
	lines, err := waiting(list)
	for _, line := range lines {
		if err == nil {
			err = do(line)
		}
	}
	if err == nil {
		crash.Count("remove postponed changes")
		_ = os.Remove(list) // otherwise it is done twice
	}
}

// postponed returns the messages that are still to be redacted in the index with this path.
func postponed(path string) ([]string, error) { return waiting(path + PostponedExt) }

// waiting returns the lines of a list.
func waiting(list string) (lines []string, err error) {
	data, err := os.ReadFile(list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what was postponed: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// copyPostponed lets what is still to be redacted or edited in one index be so also in another, which gets its content.
func copyPostponed(ctx context.Context, dir, from, to string) (err error) {
	for _, ext := range []string{PostponedExt, EditsExt} {
		lines, failed := waiting(Path(dir, from) + ext)
		known, unknown := waiting(Path(dir, to) + ext)
		err = errors.Join(err, failed, unknown)
		for _, line := range lines {
			if err == nil && !slices.Contains(known, line) {
				err = postpone(ctx, Path(dir, to)+ext, line)
			}
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
