package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/damage"
)

// A flipped bit in JSON, which the snapshot has, too, costs that text and no more: the start after the restore reads it.
func TestFlippedBitInJSON(t *testing.T) {
	for name, spoil := range map[string]string{
		"event":    `UPDATE event SET body = 'x' || substr(body, 2)`,
		"time":     `UPDATE task SET details = '{"due":{"at":"20:6-01-01T00:00:00Z"}}'`, // valid JSON
		"file":     `UPDATE message SET file = '{"url":'`,
		"history":  `UPDATE room SET history = '[{"role"]'`,
		"turn":     `UPDATE room SET history = replace(history, '"role"', '"role')`,
		"packages": `UPDATE room SET packages = '[1]'`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "journal.db")
			j, s, err := Open(ctx, dir, zerolog.Nop())
			must(t, err)
			queueTask(t, j, "!r", "$1")
			must(t, j.Messages.Queue(ctx, message("m", "!r", "$1")))
			must(t, s.Containers.Set(ctx, "!r", "box"))
			must(t, s.Conversations.Append(ctx, "!r", Turn{Role: "user", Content: "x"}))
			must(t, s.Close())
			_, err = j.db.Exec(spoil)
			must(t, err)
			must(t, j.Close())
			read := func() error {
				j, s, err := Open(ctx, dir, zerolog.Nop())
				if err != nil {
					return err
				}
				_, e := j.Events.Get(ctx, "!r", "$1")
				_, task := j.Tasks.Get(ctx, "$1")
				_, unsent := j.Messages.Unsent(ctx, "!r")
				if s.Containers.Of("!r") != "box" {
					t.Error("the container is lost")
				}
				return errors.Join(e, task, unsent, s.Close(), j.Close())
			}
			if err := read(); !damage.Is(err) || !damage.Marked(path) {
				t.Fatalf("no damage: %v", err)
			}
			must(t, os.Remove(filepath.Join(dir, "state.json"))) // it is older
			if err := read(); err != nil || damage.Marked(path) {
				t.Errorf("after the restore: %v", err)
			}
		})
	}
}

// Damage in a conversation never gets into state.json: it would bring back nothing.
func TestFileWithoutDamage(t *testing.T) {
	dir := t.TempDir()
	j, s, err := Open(ctx, dir, zerolog.Nop())
	must(t, err)
	must(t, s.Conversations.Append(ctx, "!r", Turn{Role: "user", Content: "x"}))
	must(t, s.writeFile())
	before := fileNow(t, dir)
	_, err = j.db.Exec(`UPDATE room SET history = replace(history, '"role"', '"role')`)
	must(t, err)
	if err := s.writeFile(); !damage.Is(err) || !damage.Marked(j.path) {
		t.Errorf("the damage is not noticed: %v", err)
	}
	if diff := cmp.Diff(before, fileNow(t, dir)); diff != "" {
		t.Error(diff)
	}
	_ = s.Close() // it may try again
	must(t, j.Close())
}
