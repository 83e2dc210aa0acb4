package state

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// gapped commits events after a gap.
func gapped(t *testing.T, j *Journal, room, token string, events ...Event) {
	t.Helper()
	_, err := j.Events.CommitBatch(ctx, Batch{Next: "t", Events: events, Gaps: []Gap{{Room: room, Token: token, Encrypted: EncryptedNever}}})
	must(t, err)
}

// fillPage commits a page of the room's oldest gap, newest event first.
func fillPage(t *testing.T, j *Journal, room, token string, last bool, events ...string) (fresh []string) {
	t.Helper()
	g, err := j.Gaps.Get(ctx, room)
	must(t, err)
	g.Token = token
	var page []Event
	for _, id := range events {
		page = append(page, anEvent(room, id, Pending))
	}
	got, closed, err := j.Gaps.CommitPage(ctx, g, page, last)
	must(t, err)
	if closed != last {
		t.Errorf("closed: %v, want %v", closed, last)
	}
	return ids(got)
}

func wantPending(t *testing.T, j *Journal, room string, want ...string) {
	t.Helper()
	rows, err := j.Events.Pending(ctx, room, 0, 99)
	must(t, err)
	if diff := cmp.Diff(want, ids(rows)); diff != "" {
		t.Errorf("pending in %s: %s", room, diff)
	}
}

// The events of a gap come before those that arrived first, and hold up only their room.
func TestGap(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$1", Pending))
	gapped(t, j, "!a", "p1", anEvent("!a", "$6", Pending), anEvent("!b", "$b", Pending))
	commit(t, j, "t", anEvent("!a", "$7", Pending))
	wantPending(t, j, "!a", "$1")
	wantPending(t, j, "!b", "$b")
	if rooms, err := j.Gaps.Rooms(ctx); err != nil || cmp.Diff([]string{"!a"}, rooms) != "" {
		t.Errorf("rooms with gaps: %v, %v", rooms, err)
	}

	if diff := cmp.Diff([]string{"$5", "$4"}, fillPage(t, j, "!a", "p2", false, "$5", "$6", "$4")); diff != "" {
		t.Error("a known event counts as new:", diff)
	}
	wantPending(t, j, "!a", "$1")
	g, err := j.Gaps.Get(ctx, "!a")
	must(t, err)
	if g.Token != "p2" || g.Pages != 1 || g.Next != g.Low+MaxGap-3 {
		t.Errorf("after one page: %+v", g)
	}
	known, err := j.Events.Known(ctx, "!a", g.Low, []string{"$1", "$4", "$6"})
	must(t, err)
	if diff := cmp.Diff(map[string]bool{"$1": true}, known); diff != "" {
		t.Error("known before the gap:", diff)
	}

	gapped(t, j, "!a", "q1", anEvent("!a", "$9", Pending)) // a second gap before the first one is closed
	fillPage(t, j, "!a", "", true, "$3", "$2")
	wantPending(t, j, "!a", "$1", "$2", "$3", "$4", "$5", "$6", "$7")
	fillPage(t, j, "!a", "", true, "$8")
	wantPending(t, j, "!a", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9")

	if _, err := j.Gaps.Get(ctx, "!a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("closed gaps are open: %v", err)
	}
	if _, _, err := j.Gaps.CommitPage(ctx, g, []Event{anEvent("!a", "$0", Pending)}, false); !errors.Is(err, ErrNotFound) {
		t.Errorf("a page of a closed gap was stored: %v", err)
	}
	if last, err := j.Events.Last(ctx, "!a"); last != "$9" || err != nil {
		t.Errorf("the last event is %s, %v", last, err)
	}
}

// A gap takes at most MaxGap events; with the next one it is closed.
func TestGapIsBounded(t *testing.T) {
	j := newJournal(t)
	gapped(t, j, "!a", "p")
	_, err := j.db.Exec("UPDATE gap SET next = low + 1")
	must(t, err)
	g, err := j.Gaps.Get(ctx, "!a")
	must(t, err)
	fresh, closed, err := j.Gaps.CommitPage(ctx, g, []Event{anEvent("!a", "$3", Pending), anEvent("!a", "$2", Pending), anEvent("!a", "$1", Pending)}, false)
	must(t, err)
	if diff := cmp.Diff([]string{"$3", "$2"}, ids(fresh)); diff != "" || !closed {
		t.Errorf("closed: %v; stored: %s", closed, diff)
	}
}

// A gap that takes the place of others hides everything that they did, until it is
// closed; a room that was left hides nothing.
func TestGapReplacesOthers(t *testing.T) {
	j := newJournal(t)
	commit(t, j, "t", anEvent("!a", "$1", Pending))
	gapped(t, j, "!a", "p", anEvent("!a", "$3", Pending))
	since := time.UnixMilli(1_700_000_000_000).UTC()
	_, err := j.Events.CommitBatch(ctx, Batch{Next: "u", Events: []Event{anEvent("!a", "$4", Pending)}, Closes: []string{"!a", "!b"},
		Gaps: []Gap{{Room: "!a", Token: "q", Encrypted: EncryptedLater, Since: since}}})
	must(t, err)
	wantPending(t, j, "!a", "$1")
	g, err := j.Gaps.Get(ctx, "!a")
	must(t, err)
	if g.Token != "q" || g.Encrypted != EncryptedLater || !g.Since.Equal(since) || g.Hides >= g.Low {
		t.Errorf("%+v", g)
	}
	if known, err := j.Events.Known(ctx, "!a", g.Hides, []string{"$1", "$3"}); err != nil || len(known) != 1 {
		t.Errorf("known before what is hidden: %v, %v", known, err)
	}
	_, err = j.Events.CommitBatch(ctx, Batch{Next: "v", Closes: []string{"!a"}})
	must(t, err)
	wantPending(t, j, "!a", "$1", "$3", "$4")
	if from, err := j.Gaps.Hidden(ctx, "!a"); from != math.MaxInt64 || err != nil {
		t.Errorf("hidden from %d, %v", from, err)
	}
}

// A message whose echo may be in a gap is not sent again before the gap is filled, and
// nothing overtakes it.
func TestGapMayHoldEchoes(t *testing.T) {
	j := newJournal(t)
	must(t, j.Messages.Queue(ctx, message("x1", "!a", ""), message("x2", "!b", "")))
	gapped(t, j, "!a", "p")
	must(t, j.Messages.Queue(ctx, message("x3", "!a", "")))
	next := func(room, want string) {
		t.Helper()
		m, err := j.Messages.Next(ctx, room)
		if err != nil && !errors.Is(err, ErrNotFound) || m.Txn != want {
			t.Errorf("next in %s: %q, %v, want %q", room, m.Txn, err, want)
		}
	}
	next("!a", "")
	next("!b", "x2")
	must(t, j.Messages.MarkSent(ctx, "x1", "$echo"))
	next("!a", "x3") // queued later than the gap
	fillPage(t, j, "!a", "", true)
	next("!a", "x3")
}

const gapEvents = 400 // events in each gap of the child

// fillGaps opens gaps and fills them, one event per page, continuing where an earlier
// process was killed. Event $N-400 comes after gap N, $N-0 is the oldest one in it.
func fillGaps(ctx context.Context, path string) error {
	j, err := OpenJournal(ctx, path, zerolog.Nop())
	if err != nil {
		return err
	}
	for {
		g, err := j.Gaps.Get(ctx, "!r")
		if errors.Is(err, ErrNotFound) {
			token, err := j.Events.NextBatch(ctx)
			if err != nil {
				return err
			}
			n, _ := strconv.Atoi(token)
			after := anEvent("!r", fmt.Sprintf("$%d-%d", n, gapEvents), Pending)
			gap := Gap{Room: "!r", Token: fmt.Sprintf("%d-%d", n, gapEvents-1), Encrypted: EncryptedNever}
			if _, err := j.Events.CommitBatch(ctx, Batch{Next: strconv.Itoa(n + 1), Events: []Event{after}, Gaps: []Gap{gap}}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		var n, i int
		if _, err := fmt.Sscanf(g.Token, "%d-%d", &n, &i); err != nil {
			return err
		}
		page := []Event{anEvent("!r", "$"+g.Token, Pending)}
		g.Token = fmt.Sprintf("%d-%d", n, i-1)
		if _, _, err := j.Gaps.CommitPage(ctx, g, page, i == 0); err != nil {
			return err
		}
		fmt.Println(n*gapEvents + gapEvents - i)
	}
}

// After kill -9 in the middle of a gap no event is missing, none is there twice, and
// they are in order.
func TestGapSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	for _, steps := range []int{1, 30, gapEvents, 2, 511} {
		said := killChild(t, "gap", dir, steps)
		j := openJournal(t, filepath.Join(dir, "journal.db"))
		rows, err := queryAll(ctx, j.db, scanEvent, "SELECT "+eventColumns+" FROM event ORDER BY seq")
		must(t, err)
		g, err := j.Gaps.Get(ctx, "!r")
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		visible, err := j.Events.Pending(ctx, "!r", 0, 9999)
		must(t, err)
		var first []int // of each gap: its oldest event
		last := gapEvents
		for i, row := range rows {
			var n, at int
			_, err := fmt.Sscanf(row.ID, "$%d-%d", &n, &at)
			must(t, err)
			if n == len(first) && last == gapEvents { // the gap before is complete
				first = append(first, at)
			} else if row.ID != fmt.Sprintf("$%d-%d", n, last+1) {
				t.Fatalf("event %d is %s", i, row.ID)
			}
			last = at
		}
		stored := len(rows) - len(first)
		if stored < said {
			t.Errorf("%d events were acknowledged, %d are there", said, stored)
		}
		decidable := len(rows)
		for n, at := range first {
			if at > 0 {
				decidable = n * (gapEvents + 1)
				if n != len(first)-1 || g.Low == 0 {
					t.Errorf("gap %d was closed at event %d", n, at)
				}
			}
		}
		if len(visible) != decidable {
			t.Errorf("%d events can be decided, want %d", len(visible), decidable)
		}
		must(t, j.db.Close())
	}
}
