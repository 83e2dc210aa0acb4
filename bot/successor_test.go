package bot

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"matrix-tui/bot/admit"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// A newer tombstone replaces one that waits for an invite.
func TestNewerTombstone(t *testing.T) {
	d := newDeciding(t, everything)
	h := d.upgrading(d.id)
	h.closed = 99
	d.replaced("$1", "!lost:here")
	if d.works(d.room); d.pending() != "$1" {
		t.Fatalf("%s are pending", d.pending())
	}
	h.open()
	d.replaced("$2", theHouse)
	if d.works(d.room); d.pending() != "" || d.bot.Store.SuccessorOf(d.id) != theHouse {
		t.Errorf("%s are pending, the successor is %s", d.pending(), d.bot.Store.SuccessorOf(d.id))
	}
	if d.in("!lost:here").upgrade.MayFollow("@ann:here") {
		t.Error("the room still moves to that of the old tombstone")
	}
}

// A newer tombstone that names no successor ends an upgrade that waits.
func TestTombstoneTakenBack(t *testing.T) {
	d := newDeciding(t, everything)
	d.upgrading(d.id).closed = 99
	d.replaced("$1", theHouse)
	d.works(d.room)
	if d.replaced("$2", ""); d.pending() != "" || d.bot.upgrades.Moves(d.id) {
		t.Errorf("%q are pending", d.pending())
	}
	if d.works(d.room) || d.bot.Store.SuccessorOf(d.id) != d.id {
		t.Error("the room moves")
	}
}

// A tombstone without a successor ends the claim of the one before it, also if the disk is full in between.
func TestTombstoneTakenBackInSteps(t *testing.T) {
	d := newDeciding(t, everything)
	d.upgrading(d.id).closed = 99
	d.replaced("$1", theHouse)
	d.works(d.room)
	db, err := sql.Open("sqlite", filepath.Join(d.bot.StateDir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`CREATE TRIGGER full BEFORE UPDATE ON event WHEN NEW.event = '$2' AND NEW.status = 4
		BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
	if err != nil {
		t.Fatal(err)
	}
	d.store("$2", "")
	for next := d.undecided(); err == nil; {
		do, err2 := next(t.Context())
		if err2 != nil || do == nil {
			t.Fatalf("the tombstone could be finished: %v", err2)
		}
		err = do()
	}
	if _, err := db.Exec("DROP TRIGGER full"); err != nil {
		t.Fatal(err)
	}
	if d.decides(); d.pending() != "" || d.bot.upgrades.Moves(d.id) {
		t.Errorf("%q are pending, the room moves: %v", d.pending(), d.bot.upgrades.Moves(d.id))
	}
}

// Being removed from a room that moves ends nothing, unless it turns out that it does not move.
func TestRemovedDuringUpgrade(t *testing.T) {
	for before, moves := range map[string]bool{"!den:here": true, "!other:here": false} {
		d := newDeciding(t, everything)
		h := d.upgrading(before)
		d.text("$1", "@ann:here", "paint the shed", 0)
		d.decides()
		d.replaced("$2", theHouse)
		d.text("$3", "@ann:here", "and the house", time.Minute)
		gone := admit.Synthetic(d.id, event.TypeGone, "@bot:here", "s1", event.Body{})
		if _, err := d.bot.Journal.Events.Commit(t.Context(), "", []state.Event{gone}); err != nil {
			t.Fatal(err)
		}
		h.mu.Lock()
		delete(h.joined, d.id)
		h.mu.Unlock()
		d.decides()
		if !d.works(d.room) {
			t.Error("the task has ended")
		}
		rec, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$1")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.bot.Journal.Tasks.Finish(t.Context(), rec.Key); err != nil {
			t.Fatal(err)
		}
		d.works(d.room)
		d.decides() // the removal
		_, err = d.bot.Journal.Tasks.Next(t.Context(), theHouse)
		if moved := err == nil; moved != moves || d.pending() != "" {
			t.Errorf("the new room names %s: the next task has moved there: %v; %q are pending", before, moved, d.pending())
		}
		if _, err := d.bot.Journal.Tasks.Next(t.Context(), d.id); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("the new room names %s: a task stays in the old one, %v", before, err)
		}
	}
}

// A task that began while the upgrade waited ends in the old room, also after a restart: its container must not go.
func TestBegunBeforeTombstone(t *testing.T) {
	d := newDeciding(t, everything)
	d.upgrading(d.id)
	d.replaced("$1", theHouse)
	d.text("$2", "@ann:here", "paint the shed", time.Minute)
	d.decides()
	rec, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$2")
	if err != nil {
		t.Fatal(err)
	}
	rec.Container = "c"
	if err := d.bot.Journal.Tasks.Claim(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if !d.works(d.room) || d.bot.Store.SuccessorOf(d.id) != d.id {
		t.Error("the room has moved before the run has ended")
	}
	if err := d.bot.Journal.Tasks.Finish(t.Context(), rec.Key); err != nil {
		t.Fatal(err)
	}
	if d.works(d.room); d.bot.Store.SuccessorOf(d.id) != theHouse {
		t.Error("the room has not moved after the run")
	}
}

// A removal that is carried out late, when the bot is in the room again, ends only what was before it.
func TestRemovedBefore(t *testing.T) {
	d := newDeciding(t, everything)
	d.upgrading(d.id)
	d.text("$1", "@ann:here", "paint the shed", 0)
	gone := admit.Synthetic(d.id, event.TypeGone, "@bot:here", "s1", event.Body{})
	rows, err := d.bot.Journal.Events.Commit(t.Context(), "", []state.Event{gone})
	if err != nil {
		t.Fatal(err)
	}
	d.text("$2", "@ann:here", "and the house", time.Minute)
	for _, row := range []string{"$1", "$2"} {
		event, err := d.bot.Journal.Events.Get(t.Context(), d.id, row)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.decide(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	later, err := d.bot.Journal.Tasks.Of(t.Context(), d.id, "$2")
	if err != nil {
		t.Fatal(err)
	}
	d.turn.Claim(d.env.Work(t.Context(), later))
	if err := d.members.Do(t.Context(), rows[0]); err != nil {
		t.Fatal(err)
	}
	if next, err := d.bot.Journal.Tasks.Next(t.Context(), d.id); err != nil || next.Event != "$2" {
		t.Errorf("the next task is %q, %v", next.Event, err)
	}
}

// A room whose workspace has moved already, when the bot was killed, does nothing but finish the move; and one that moved
// long ago can still be upgraded again, and its tombstone be corrected.
func TestHalfMoved(t *testing.T) {
	d := newDeciding(t, everything)
	h := d.upgrading(d.id)
	if err := d.bot.Store.MoveRoom(t.Context(), d.id, theHouse); err != nil {
		t.Fatal(err)
	}
	d.replaced("$1", theHouse)
	d.text("$2", "@ann:here", "paint the shed", time.Minute)
	d.decides()
	d.upgrade.Forget() // as after a restart
	if do, err := d.nextTask(t.Context()); do != nil || err != nil {
		t.Errorf("a task starts in a room that has half moved: %v", err)
	}
	if d.replaced("$3", "!shed:here"); d.pending() != "$1$3" {
		t.Errorf("another tombstone splits the room: %q are pending", d.pending())
	}
	if d.works(d.room) || d.pending() != "" {
		t.Errorf("%q are pending after the move", d.pending())
	}
	h.mu.Lock()
	h.closed = 99
	h.mu.Unlock()
	d.replaced("$4", "!lost:here")
	d.works(d.room)
	if d.replaced("$5", "!shed:here"); d.pending() != "$5" {
		t.Errorf("%q are pending, want the newest tombstone", d.pending())
	}
}

// If everybody leaves the old room before the upgrade is followed, the bot leaves it after that.
func TestLeavesOldRoom(t *testing.T) {
	for _, alone := range []bool{true, false} {
		d := newDeciding(t, everything)
		h := d.upgrading(d.id)
		h.alone = alone
		d.replaced("$1", theHouse)
		d.commit(`{"event_id":"$2","type":"m.room.member","state_key":"@ann:here","sender":"@ann:here","origin_server_ts":1,"content":{"membership":"leave"}}`)
		d.decides()
		if !h.in(d.id) {
			t.Error("it has left before the room has moved")
		}
		d.works(d.room)
		d.bot.work.Wait()
		if h.in(d.id) == alone || !h.in(theHouse) {
			t.Errorf("alone: %v, in the old room: %v, in the new one: %v", alone, h.in(d.id), h.in(theHouse))
		}
	}
}
