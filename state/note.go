package state

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"matrix-tui/state/scrub"
)

// NoteKind says what a note is about. The words are on disk.
type NoteKind string

// The kinds of notes.
const (
	Semantic   NoteKind = "semantic"   // what is so: a fact
	Procedural NoteKind = "procedural" // how things are to be done: a preference
	Episodic   NoteKind = "episodic"   // what happened: a task
	Reflective NoteKind = "reflective" // what was concluded: a decision, a lesson
	Answered   NoteKind = "answer"     // a question of the agent with a person's answer
)

// NoteSource says where a note comes from. The words are on disk.
type NoteSource string

// The sources of notes.
const (
	Observed  NoteSource = "observed" // a task: nobody has stated it
	Added     NoteSource = "added"    // by a person, with a command
	FromAgent NoteSource = "agent"    // by the agent, from a person's words; without a quote it is a line in a file
)

// Note is something that a room remembers.
type Note struct {
	ID, Room, Scope string
	Kind            NoteKind
	Text            string
	Quote, Event    string
	Task, By        string
	Time            time.Time
	Salience        float64 // 0 to 1
	Source          NoteSource
	Replaces        string
	File            string
	Written         bool
}

// maxNotes bounds the notes of a kind in a room: the oldest go first.
const maxNotes = 2000

const noteColumns = "id, room, scope, kind, text, quote, event, task, by, time, salience, source, replaces, file, " +
	"written"

func (n *Note) columns() []any {
	return []any{&n.ID, &n.Room, &n.Scope, &n.Kind, &n.Text, &n.Quote, &n.Event, &n.Task, &n.By, nanos{&n.Time},
		&n.Salience,
		&n.Source, &n.Replaces, &n.File, &n.Written}
}

func scanNote(row scanner) (n Note, err error) {
	err = row.Scan(n.columns()...)
	return n, err
}

// noteID identifies a note by its room and text.
func noteID(room, text string) string {
	sum := sha256.Sum256([]byte(room + "\x00" + scrub.Plain(text)))
	return hex.EncodeToString(sum[:5])
}

// AddNotes stores notes, gives them their IDs, and returns those that are new. One that the room has stays unchanged.
// What was forgotten may be stated again, but is not observed again.
func (j *Memory) AddNotes(ctx context.Context, notes ...Note) (added []Note, err error) {
	err = j.inTx(ctx, func(tx *sql.Tx) error {
		added = nil
		for i, n := range notes {
			n.ID = noteID(n.Room, n.Text)
			notes[i].ID = n.ID
			if err := welcome(ctx, tx, n); errors.Is(err, errForgotten) {
				continue
			} else if err != nil {
				return err
			}
			rows, err := affect(ctx, tx, "INSERT INTO note ("+noteColumns+
				") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", n.columns()...)
			if err != nil {
				return err
			}
			if rows > 0 {
				added = append(added, n)
			}
			err = run(ctx, tx, `DELETE FROM note WHERE seq IN (SELECT seq FROM note WHERE room = ? AND kind = ? ORDER BY seq DESC LIMIT -1 OFFSET ?)`,
				n.Room, n.Kind, maxNotes)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return added, j.failed("store notes", err)
}

// Notes returns the notes of a room, the newest first: those of some kinds, or all.
func (j *Memory) Notes(ctx context.Context, room string, kinds ...NoteKind) ([]Note, error) {
	all, err := queryAll(ctx, j.db, scanNote, "SELECT "+noteColumns+
		" FROM note WHERE room = ? ORDER BY time DESC, seq DESC", room)
	if len(kinds) > 0 {
		all = slices.DeleteFunc(all, func(n Note) bool { return !slices.Contains(kinds, n.Kind) })
	}
	return all, j.failed("read notes", err)
}

// NotesOfTask returns the notes that a task's result shows, oldest first.
func (j *Memory) NotesOfTask(ctx context.Context, task string) ([]Note, error) {
	return list(ctx, j.core, "read notes of a task", scanNote, "SELECT "+noteColumns+
		" FROM note WHERE task = ? AND task <> '' ORDER BY seq", task)
}

// SetWritten records which notes of a room their files have now.
func (j *Memory) SetWritten(ctx context.Context, room string, ids ...string) error {
	return j.change(ctx, "mark notes", func(tx *sql.Tx) error {
		for _, id := range ids {
			if err := run(ctx, tx, "UPDATE note SET written = 1 WHERE room = ? AND id = ?", room, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveNotes removes notes of a room and keeps hashes of them and of their lines, so that no file brings them back.
func (j *Memory) RemoveNotes(ctx context.Context, gone ...Note) error {
	return j.change(ctx, "remove notes", func(tx *sql.Tx) error { return removeNotes(ctx, tx, gone) })
}

func removeNotes(ctx context.Context, tx *sql.Tx, gone []Note) error {
	for _, n := range gone {
		if err := run(ctx, tx, "DELETE FROM note WHERE room = ? AND id = ?", n.Room, n.ID); err != nil {
			return err
		}
		if err := forget(ctx, tx, n.Room, n.Text, n.Line()); err != nil {
			return err
		}
	}
	return nil
}

// Line is a note as its file shows it.
func (n Note) Line() string {
	if n.By == "" || n.Source == Added || n.Source == Observed || n.Kind == Answered {
		return n.Text
	}
	return n.Text + " (" + n.By + ", " + n.Time.Format(time.DateOnly) + ")"
}

// moveNotes gives what a room remembers to its successor, with what its container may still have to lose.
func moveNotes(ctx context.Context, tx *sql.Tx, from, to string) error {
	notes, err := queryAll(ctx, tx, scanNote, "SELECT "+noteColumns+" FROM note WHERE room = ?", from)
	if err != nil {
		return err
	}
	for _, n := range notes {
		_, err := tx.ExecContext(ctx, "UPDATE OR REPLACE note SET room = ?, id = ? WHERE room = ? AND id = ?", to,
			noteID(to, n.Text), from, n.ID)
		if err != nil {
			return err
		}
	}
	for _, table := range []string{"import", "forgotten"} {
		if err := run(ctx, tx, "UPDATE OR REPLACE "+table+" SET room = ? WHERE room = ?", to, from); err != nil {
			return err
		}
	}
	return run(ctx, tx, "UPDATE OR REPLACE meta SET key = 'untidy ' || ? WHERE key = 'untidy ' || ?", to, from)
}

// Clear removes all that a room remembers.
func (j *Memory) Clear(ctx context.Context, room string) error {
	return j.change(ctx, "remove memory", func(tx *sql.Tx) error {
		for _, table := range []string{"note", "import", "forgotten"} {
			if err := run(ctx, tx, "DELETE FROM "+table+" WHERE room = ?", room); err != nil {
				return err
			}
		}
		return nil
	})
}
