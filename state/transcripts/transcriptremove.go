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
	return t.each(room, "redact message in transcript", func(part string) error { return t.redact(part, room, event) })
}

func (t *Files) redact(path, room, event string) error {
	data, err := readEnd(path, t.max+maxLine)
	if err != nil || !bytes.Contains(data, disk.JSON(event)) {
		return err
	}
	var kept bytes.Buffer
	found := false
	for text := range bytes.Lines(data) {
		var line Line
		if json.Unmarshal(text, &line) == nil && line.Event == event && (line.Room == room || line.Room == "") &&
			(line.Kind == KindBegin || line.Kind == KindUser) && line.Text != scrub.Deleted {
			line.Text, found = scrub.Deleted, true
			text = line.encode()
		}
		kept.Write(text)
	}
	if !found {
		return nil
	}
	if err := renameio.WriteFile(path, kept.Bytes(), 0o600, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithStaticPermissions(0o600)); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

// Scrub scrubs a room's transcript. It reports whether there was anything.
func (t *Files) Scrub(room string, change *scrub.Scrub) (found bool, err error) {
	if len(change.Needles) == 0 {
		return false, nil
	}
	err = t.each(room, "scrub transcript", func(part string) error {
		data, err := readEnd(part, t.max+maxLine)
		if err != nil || !change.In(data) {
			return err
		}
		var kept bytes.Buffer
		changed := false
		for text := range bytes.Lines(data) {
			var line Line
			if change.In(text) && json.Unmarshal(text, &line) == nil && (line.Room == room || line.Room == "") {
				for _, field := range []*string{&line.Text, &line.Outcome} {
					if out, hit := change.Text(*field); hit && *field != scrub.Deleted {
						*field, changed = out, true
						text = line.encode()
					}
				}
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
