package state

import (
	"context"
	"strings"
)

// OpenEdit is an edit whose message is not replaced everywhere yet.
type OpenEdit struct{ Room, Event string }

// Marks of edits in the table meta. A room's ID contains no space, nor does an event's.
const (
	markEdit   = "INSERT INTO meta (key, value) VALUES ('edit ' || ? || ' ' || ?, '') ON CONFLICT DO NOTHING"
	unmarkEdit = "DELETE FROM meta WHERE key = 'edit ' || ? || ' ' || ?"
	queryEdit  = "SELECT substr(key, 6) FROM meta WHERE key > 'edit ' AND key < 'edit!' ORDER BY key"
)

// BeginEdit records that an edit is to replace what its message said, until EndEdit: its event is Done before.
func (j *Memory) BeginEdit(ctx context.Context, e OpenEdit) error {
	return j.exec(ctx, "begin edit", markEdit, e.Room, e.Event)
}

// EndEdit records that what the message said is replaced everywhere.
func (j *Memory) EndEdit(ctx context.Context, e OpenEdit) error {
	return j.exec(ctx, "end edit", unmarkEdit, e.Room, e.Event)
}

// OpenEdits returns the edits that a crash has cut off, ordered by room.
func (j *Memory) OpenEdits(ctx context.Context) ([]OpenEdit, error) {
	return list(ctx, j.core, "look up open edits", func(row scanner) (e OpenEdit, err error) {
		key, err := scanText(row)
		e.Room, e.Event, _ = strings.Cut(key, " ")
		return e, err
	}, queryEdit)
}
