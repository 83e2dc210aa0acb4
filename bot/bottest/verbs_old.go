package bottest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// oldJournal is a journal written by an earlier release, dumped as SQL; most of it happens in oldRoom.
const oldJournal, oldRoom = "../../state/testdata/journal8.sql", "!den:here"

// oldSaid are the texts of the messages in such a journal, by their events.
var oldSaid = regexp.MustCompile(`'(\$[a-z]+)','@ann:here','m\.room\.message',.*"body":"([^"]*)"`)

// doOldJournal replaces the bot's journal with one written by an earlier release, as if that had run here: its room is
// ROOM, and its messages are those with the same text that USER has sent there. Entries without such a message are left
// out. Questions wait for another hour.
func doOldJournal(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[0], args[1])
	if err != nil {
		return err
	}
	if sc.bot.proc != nil && sc.bot.proc.Alive() {
		return errors.New("the bot runs")
	}
	data, err := os.ReadFile(oldJournal)
	if err != nil {
		return err
	}
	dump := string(data)
	names := []string{oldRoom, room, "@ann:here", p.ID(), "@bot:here", sc.bot.id}
	var events, keys []any
	key := func(room, event string) string {
		sum := sha256.Sum256([]byte(room + "\x00" + event))
		return hex.EncodeToString(sum[:10])
	}
	for _, m := range oldSaid.FindAllStringSubmatch(dump, -1) {
		said, err := newest(p, room, "^"+regexp.QuoteMeta(m[2])+"$", true)
		if err != nil {
			continue
		}
		names = append(names, `"`+m[1]+`"`, `"`+said.Event+`"`, `'`+m[1]+`'`, `'`+said.Event+`'`, key(oldRoom, m[1]),
			key(room, said.Event))
		if m[1] == "$context" {
			names = append(names, `"$root"`, `"`+said.Event+`"`, `'$root'`, `'`+said.Event+`'`)
		}
		events, keys = append(events, said.Event), append(keys, key(room, said.Event))
	}
	if len(events) == 0 {
		return errors.New("nothing of the journal was said")
	}
	dump = strings.NewReplacer(names...).Replace(dump)

	path := filepath.Join(sc.state(), "journal.db")
	var token string
	if err := inDatabase(path, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'next_batch'").Scan(&token)
	}); err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.RemoveAll(path + end); err != nil {
			return err
		}
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(events)), ", ")
	return inDatabase(path, func(db *sql.DB) error {
		for _, step := range []struct {
			do   string
			args []any
		}{
			{dump, nil},
			{"UPDATE meta SET value = ? WHERE key = 'next_batch'", []any{token}},
			{"UPDATE task SET question_deadline = ? WHERE question_deadline > 0", []any{time.Now().Add(time.Hour).UnixNano()}},
			{"DELETE FROM gap", nil},
			{"DELETE FROM event WHERE event NOT IN (" + marks + ")", events},
			{"DELETE FROM task WHERE event NOT IN (" + marks + ")", events},
			{"DELETE FROM message WHERE txn LIKE '%-%' AND substr(txn, 1, 20) NOT IN (" + marks + ")", keys},
		} {
			if _, err := db.ExecContext(ctx, step.do, step.args...); err != nil {
				return fmt.Errorf("make the old journal: %w", err)
			}
		}
		return nil
	})
}

// inDatabase opens a database for a moment.
func inDatabase(path string, do func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}
