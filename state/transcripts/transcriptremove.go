package transcripts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"matrix-tui/bot/crash"
	"matrix-tui/state/disk"
	"matrix-tui/state/scrub"
)

// Remove removes a room's transcript. A missing one is no error.
func (t *Files) Remove(room string) error {
	return t.each(room, "remove transcript", func(part string) error {
		crash.Count("remove transcript")
		if err := os.Remove(part); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// each calls do for the files of a room's transcript, the older one first.
func (t *Files) each(room, what string, do func(path string) error) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	path, err := t.path(room)
	if err != nil {
		return err
	}
	for _, part := range []string{path + ".1", path} {
		if err := do(part); err != nil {
			return disk.Explain(fmt.Errorf("%s: %w", what, err), part)
		}
	}
	return nil
}

// Redact removes what a message said from a room's transcript.
func (t *Files) Redact(room, event string) error {
	needle := disk.JSON(event)
	has := func(data []byte) bool { return bytes.Contains(data, needle) }
	_, err := t.rewrite(room, "redact message in transcript", has, func(line *Line) bool {
		if line.Event != event || line.Kind != KindBegin && line.Kind != KindUser || line.Text == scrub.Deleted {
			return false
		}
		line.Text = scrub.Deleted
		return true
	})
	return err
}

// Scrub scrubs a room's transcript. It reports whether there was anything.
func (t *Files) Scrub(room string, change *scrub.Scrub) (found bool, err error) {
	return t.rewrite(room, "scrub transcript", change.In, func(line *Line) (changed bool) {
		for _, field := range []*string{&line.Text, &line.Outcome} {
			if out, hit := change.Text(*field); hit && *field != scrub.Deleted {
				*field, changed = out, true
			}
		}
		return changed
	})
}

// rewrite changes the lines of a room's transcript, and reports whether one has changed. It looks only at those that
// may change.
func (t *Files) rewrite(room, what string, may func([]byte) bool, change func(*Line) bool) (found bool, err error) {
	err = t.each(room, what, func(part string) error {
		data, err := readEnd(part, t.max+maxLine)
		if err != nil || !may(data) {
			return err
		}
		var kept bytes.Buffer
		changed := false
		for text := range bytes.Lines(data) {
			var line Line
			if may(text) && json.Unmarshal(text, &line) == nil && (line.Room == room || line.Room == "") && change(&line) {
				text, changed = line.encode(), true
			}
			kept.Write(text)
		}
		if !changed {
			return nil
		}
		found = true
		if err := renameio.WriteFile(part, kept.Bytes(), 0o600, renameio.WithTempDir(filepath.Dir(part)),
			renameio.WithStaticPermissions(0o600)); err != nil {
			return err
		}
		return disk.SyncDir(filepath.Dir(part))
	})
	return found, err
}
