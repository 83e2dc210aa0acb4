package state

import (
	"database/sql/driver"
	"fmt"
	"time"

	"matrix-tui/state/disk"
)

// When says at which times an entry of a schedule is due. Exactly one of the first three fields is set.
type When struct {
	Cron  string        `json:"cron,omitempty"`  // five fields, in the room's time zone
	Every time.Duration `json:"every,omitempty"` // counted from From
	At    time.Time     `json:"at,omitzero"`     // once

	From time.Time `json:"from,omitzero"` // with Every
}

// Missed says what happens with times that pass while the bot is not running. The words are on disk.
type Missed string

const (
	MissedOnce Missed = "once" // one run when it is back
	MissedSkip Missed = "skip" // none
	MissedAll  Missed = "all"  // one for each
)

const (
	// OnTime is how late a run may start without being called late.
	OnTime = time.Minute
	// MaxFailures is how many runs of an entry may fail in a row before it is paused.
	MaxFailures = 3
	failedOften = "it has failed three times in a row." // why an entry is paused
	leftRoom    = "I have left the room."
)

// Entry is an entry of a room's schedule: a task for set times.
type Entry struct {
	Room     string
	Number   int    // in the room, from 1; it is not used again
	Text     string // the task
	When     When
	Missed   Missed
	Gate     string // a shell command that decides whether the agent starts, or ""
	By       string // user ID of who created it
	Events   string // the messages that its texts are from, separated by blanks
	Created  time.Time
	Zone     string    // in which Next was computed
	Next     time.Time // when it is due; zero: never again
	Paused   string    // why it is paused, or ""
	Failures int       // of its newest runs, in a row
}

// entryColumns are in the order of Entry.columns.
const entryColumns = "room, number, text, at_times, missed, gate, creator, events, created, zone, next, paused, " +
	"failures"

func (e *Entry) columns() []any {
	return []any{&e.Room, &e.Number, &e.Text, asJSON{&e.When}, &e.Missed, &e.Gate, &e.By, &e.Events,
		nanos{&e.Created}, &e.Zone, nanos{&e.Next}, &e.Paused, &e.Failures}
}

func scanEntry(row scanner) (e Entry, err error) {
	err = row.Scan(e.columns()...)
	return e, err
}

// asJSON is a column with JSON.
type asJSON struct{ value any }

func (a asJSON) Value() (driver.Value, error) { return string(disk.JSON(a.value)), nil }

func (a asJSON) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("read JSON: %T", value)
	}
	return readJSON(text, a.value)
}

// Key identifies an entry, also after a room upgrade, which changes its number.
func (e Entry) Key() string { return Hash(fmt.Sprint(e.Created.UnixNano())) }
