package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// postponedExt is how the names of the lists of messages end that are still to be redacted.
	postponedExt = ".redactions"
	// editsExt is how those of the lists of edits end that are still to be made.
	editsExt = ".edits"
)

// Postpone makes the next Open redact a message, because the index of its room cannot be changed now.
func Postpone(ctx context.Context, dir, room, event string) error {
	if err := postpone(ctx, Path(dir, room)+postponedExt, event); err != nil {
		return fmt.Errorf("postpone redaction: %w", err)
	}
	return nil
}

// PostponeEdit keeps an edit until PostponedEdits, because the index of its room cannot be changed now.
func PostponeEdit(ctx context.Context, dir, room string, edit any) error {
	line, err := json.Marshal(edit)
	if err == nil {
		err = postpone(ctx, Path(dir, room)+editsExt, string(line))
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
	_, err = list.WriteString(line + "\n")
	return errors.Join(err, list.Sync(), list.Close())
}

// redactPostponed redacts these messages.
func (x *Index) redactPostponed(ctx context.Context) {
	x.catchUp(ctx, postponedExt, func(event string) error {
		_, err := x.Redact(ctx, event)
		return err
	})
}

// PostponedEdits makes the edits that were kept, the oldest first.
func (x *Index) PostponedEdits(ctx context.Context, do func(edit []byte) error) {
	x.catchUp(ctx, editsExt, func(line string) error { return do([]byte(line)) })
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
	lines, err := os.ReadFile(list)
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSpace(line); err == nil && line != "" {
			err = do(line)
		}
	}
	if err == nil {
		_ = os.Remove(list) // otherwise it is done twice
	}
}
