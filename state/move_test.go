package state

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"matrix-tui/state/event"
)

// A successor was last active when its predecessors were, until it has a task of its own.
func TestLastActiveMoves(t *testing.T) {
	j := newJournal(t)
	active := func(room string) time.Time {
		t.Helper()
		at, err := j.Tasks.LastActive(ctx, room)
		must(t, err)
		return at
	}
	finished := func(room, event string, at time.Time) {
		t.Helper()
		task := queueTask(t, j, room, event)
		task.Updated = at
		must(t, j.Tasks.Claim(ctx, task))
		must(t, j.Tasks.Finish(ctx, task.Key))
	}
	move := func(from, to string) {
		t.Helper()
		must(t, j.MoveRoom(ctx, from, to, Adapter{Key: func(event string) string { return to + event }}))
	}
	move("!never", "!first")
	if at := active("!first"); !at.IsZero() {
		t.Errorf("a room without tasks was active at %v", at)
	}
	before := time.Date(2026, 3, 1, 10, 0, 0, 1, time.UTC)
	finished("!first", "$1", before)
	queueTask(t, j, "!first", "$2") // has not begun
	move("!first", "!second")
	move("!second", "!third")
	move("!second", "!third")
	for _, room := range []string{"!second", "!third"} {
		if at := active(room); !at.Equal(before) {
			t.Errorf("%s was active at %v, want %v", room, at, before)
		}
	}
	finished("!third", "$3", before.Add(time.Hour))
	move("!first", "!third") // an older one comes late
	if at := active("!third"); !at.Equal(before.Add(time.Hour)) {
		t.Errorf("after a task of its own, it was active at %v", at)
	}
	move("!third", "!fourth")
	if at := active("!fourth"); !at.Equal(before.Add(time.Hour)) {
		t.Errorf("!fourth was active at %v", at)
	}
}

func TestJournalMoveRoom(t *testing.T) {
	j := newJournal(t)
	queued := queueTask(t, j, "!old", "$1")
	asking := queueTask(t, j, "!old", "$5")
	over := queueTask(t, j, "!old", "$6")
	commit(t, j, "t", anEvent("!old", "$2", Pending), anEvent("!old", "$3", Archived), anEvent("!old", "$4", Done), anEvent("!old", "$tombstone", Pending))
	must(t, j.Tasks.Wait(ctx, asking, []Message{message("q", "!old", "$5")}))
	must(t, j.Tasks.Finish(ctx, over.Key))
	must(t, j.Messages.Queue(ctx, message("x1", "!old", ""), message("x2", "!old", "$1")))
	must(t, j.Messages.MarkSent(ctx, "x1", "$e"))
	must(t, j.Messages.Queue(ctx, message("x3", "!old", "$1")))
	adapt := Adapter{
		Key: func(event string) string { return "new " + event },
		Message: func(o Message) Message {
			if o.Txn == "x3" {
				o.Status, o.Error = Refused, "it stays"
			}
			o.Relation, o.Target, o.Thread = "moved", "$there", "$root"
			return o
		},
	}
	for range 2 {
		must(t, j.MoveRoom(ctx, "!old", "!new", adapt, "$tombstone"))
	}
	must(t, j.MoveRoom(ctx, "!new", "!new", adapt))
	if j.MoveRoom(ctx, "!new", "", adapt) == nil {
		t.Error("moved without a successor")
	}

	rows, err := j.Events.Pending(ctx, "!new", 0, 9)
	must(t, err)
	want := anEvent("!new", "$2", Pending)
	want.Home = "!old"
	if diff := cmp.Diff([]Event{want}, rows, cmpopts.IgnoreFields(Event{}, "Seq", "At")); diff != "" {
		t.Error(diff)
	}
	next, err := j.Tasks.Next(ctx, "!new")
	must(t, err)
	waits, err := j.Tasks.WaitingIn(ctx, "!new")
	must(t, err)
	queued.Room, queued.Key = "!new", "new $1"
	asking.Room, asking.Key, asking.State = "!new", "new $5", TaskWaiting
	if diff := cmp.Diff([]Task{queued, asking}, append([]Task{next}, waits...)); diff != "" {
		t.Error(diff)
	}
	if all, err := j.Tasks.Waiting(ctx); len(all) != 1 || err != nil {
		t.Errorf("left in the old room: %v, %v", keys(all), err)
	}
	if rows, err := j.Events.Pending(ctx, "!old", 0, 9); len(rows) > 0 || err != nil {
		t.Errorf("left in the old room: %v, %v", ids(rows), err)
	}
	if _, err := j.Tasks.Next(ctx, "!old"); !errors.Is(err, ErrNotFound) {
		t.Errorf("left in the old room: %v", err)
	}
	if last, err := j.Tasks.Last(ctx, "!old"); err != nil || last.Key != over.Key {
		t.Errorf("a finished task has moved: %s, %v", last.Key, err)
	}
	if row, err := j.Events.Get(ctx, "!old", "$tombstone"); err != nil || row.Status != Done {
		t.Errorf("the tombstone has status %d, %v", row.Status, err)
	}
	if fresh := commit(t, j, "t", anEvent("!old", "$2", Pending)); len(fresh) > 0 {
		t.Error("a moved event that arrived again counted as new")
	}
	for txn, status := range map[string]OutStatus{"x1": Sent, "x2": Unsent, "x3": Refused} {
		got, err := j.Messages.Get(ctx, txn)
		must(t, err)
		if moved := got.Relation == "moved" && got.Target == "$there" && got.Thread == "$root"; got.Status != status || moved == (status == Sent) || (got.Error != "") != (status == Refused) {
			t.Errorf("%+v", got)
		}
	}
	for room, want := range map[string][]string{"!new": {"q", "x2"}, "!old": nil} {
		unsent, err := j.Messages.Unsent(ctx, room)
		must(t, err)
		if diff := cmp.Diff(want, txns(unsent)); diff != "" {
			t.Error(room, diff)
		}
		for _, m := range unsent {
			if _, err := j.Tasks.Get(ctx, m.Task); err != nil {
				t.Errorf("%s belongs to %s: %v", m.Txn, m.Task, err)
			}
		}
	}
}

// What is about the old room itself stays there, and a room of which only that is pending is not busy.
func TestMoveLeavesTheRoomsOwn(t *testing.T) {
	j := newJournal(t)
	var rows []Event
	for i, kind := range []string{event.TypeTombstone, event.TypeGone, event.TypeMember, event.TypeInvite, event.TypeMessage} {
		e := Event{Status: Pending}
		e.ID, e.Room, e.Type, e.Sender = fmt.Sprint("$", i), "!old", kind, "@ann:x"
		rows = append(rows, e)
	}
	_, err := j.Events.Commit(ctx, "", rows[:2])
	must(t, err)
	if busy, err := j.Events.BusyRooms(ctx); len(busy) > 0 || err != nil {
		t.Errorf("busy: %v, %v", busy, err)
	}
	if known, err := j.Events.PendingOf(ctx, event.TypeTombstone); len(known) != 1 || known[0].ID != "$0" || err != nil {
		t.Errorf("tombstones: %v, %v", known, err)
	}
	_, err = j.Events.Commit(ctx, "", rows[2:])
	must(t, err)
	if busy, err := j.Events.BusyRooms(ctx); len(busy) != 1 || err != nil {
		t.Errorf("busy: %v, %v", busy, err)
	}
	must(t, j.MoveRoom(ctx, "!old", "!new", Adapter{}, "$0"))
	left, err := j.Events.Pending(ctx, "!old", 0, 9)
	must(t, err)
	moved, err := j.Events.Pending(ctx, "!new", 0, 9)
	if len(left) > 0 || len(moved) != 1 || moved[0].Type != event.TypeMessage || err != nil {
		t.Errorf("%d are left, %v have moved, %v", len(left), moved, err)
	}
}

// A successor has the notes under IDs of its own, so that none is there twice, and its container still has to lose what
// was scrubbed.
func TestMoveNotes(t *testing.T) {
	j := newJournal(t)
	note := Note{Room: "!old", Kind: Semantic, Text: "the door is green", Source: Added}
	_, err := j.Memory.AddNotes(ctx, note, Note{Room: "!old", Kind: Semantic, Text: "the roof leaks", Source: Added})
	must(t, err)
	must(t, j.Memory.RedactNotes(ctx, "!old", "$1"))
	note.Room = "!new"
	_, err = j.Memory.AddNotes(ctx, note)
	must(t, err)
	for range 2 {
		must(t, j.MoveRoom(ctx, "!old", "!new", Adapter{}))
	}
	added, err := j.Memory.AddNotes(ctx, note)
	must(t, err)
	notes, err := j.Memory.Notes(ctx, "!new")
	if must(t, err); len(added) != 0 || len(notes) != 2 {
		t.Errorf("the successor has %+v", notes)
	}
	if untidy, err := j.Memory.Untidy(ctx, "!new"); err != nil || !untidy {
		t.Errorf("its container is tidy (%v)", err)
	}
	if untidy, err := j.Memory.Untidy(ctx, "!old"); err != nil || untidy {
		t.Errorf("the old room's is not (%v)", err)
	}
}
