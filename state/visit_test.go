package state

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"matrix-tui/state/event"
)

func TestVisits(t *testing.T) {
	j, now := newJournal(t), time.Now().UTC().Truncate(time.Second)
	alice := Visitor{User: "@alice:h", Proof: event.Verified, Until: now.Add(time.Minute), Number: "123456"}
	enter := func(code, session string, at time.Time) error {
		return j.Visits.Enter(ctx, code, "123456", session, at, at.Add(time.Hour))
	}
	must(t, j.Visits.Admit(ctx, "one", alice, now))
	must(t, j.Visits.Admit(ctx, "two", alice, now)) // takes the place of the first
	if err := enter("one", "s", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("a code that was replaced: %v", err)
	}
	if err := enter("two", "s", now.Add(time.Minute)); !errors.Is(err, ErrNotFound) {
		t.Errorf("a code that has expired: %v", err)
	}
	must(t, enter("two", "s", now))
	if err := enter("two", "s2", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("a code used twice: %v", err)
	}
	want := Visitor{User: "@alice:h", Proof: event.Verified, Until: now.Add(time.Hour)}
	if got, err := j.Visits.Of(ctx, "s", now); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := j.Visits.Of(ctx, "s", now.Add(time.Hour)); !errors.Is(err, ErrNotFound) {
		t.Errorf("a session that has ended: %v", err)
	}
	must(t, j.Visits.Leave(ctx, "s"))
	if _, err := j.Visits.Of(ctx, "s", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("after signing out: %v", err)
	}
	for _, code := range []string{"three", "four"} {
		must(t, j.Visits.Admit(ctx, code, alice, now))
		must(t, enter(code, "s"+code, now))
	}
	must(t, j.Visits.Admit(ctx, "five", alice, now))
	must(t, j.Visits.LeaveAll(ctx, alice.User, now))
	if _, err := j.Visits.Of(ctx, "sfour", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("after signing out everywhere: %v", err)
	}
	if err := enter("five", "sfive", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("after signing out everywhere, a code still counts: %v", err)
	}
	one, err := j.Visits.Key(ctx)
	must(t, err)
	if two, err := j.Visits.Key(ctx); err != nil || one != two || one == "" {
		t.Errorf("keys %q and %q, %v", one, two, err)
	}
}

func TestVisitsAreBounded(t *testing.T) {
	j, now := newJournal(t), time.Now()
	for i := range maxSessions + 3 {
		at := now.Add(time.Duration(i) * time.Second)
		for _, user := range []string{"@alice:h", "@bob:h"} {
			code := fmt.Sprint(user, i)
			must(t, j.Visits.Admit(ctx, code, Visitor{User: user, Until: at.Add(time.Minute)}, at))
			must(t, j.Visits.Enter(ctx, code, "", "s"+code, at, at.Add(time.Hour)))
		}
	}
	if n, err := queryValue[int](ctx, j.db, "SELECT count(*) FROM meta WHERE key LIKE 'session %'"); err != nil ||
		n != 2*maxSessions {
		t.Errorf("%d sessions, %v", n, err)
	}
	if _, err := j.Visits.Of(ctx, "s@alice:h2", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("the oldest: %v", err)
	}
	if _, err := j.Visits.Of(ctx, "s@alice:h3", now); err != nil {
		t.Errorf("the oldest but one: %v", err)
	}
	must(t, j.Visits.Admit(ctx, "late", Visitor{User: "@c:h", Until: now.Add(9 * time.Hour)}, now.Add(8*time.Hour)))
	must(t, j.Visits.Enter(ctx, "late", "", "late", now.Add(8*time.Hour), now.Add(9*time.Hour)))
	if n, err := queryValue[int](ctx, j.db, "SELECT count(*) FROM meta WHERE key LIKE 'session %'"); err != nil || n != 1 {
		t.Errorf("%d sessions after all others have ended, %v", n, err)
	}
}

// Whoever has a code needs the number that its sender was told, and cannot try them all.
func TestVisitsNeedNumber(t *testing.T) {
	j, now := newJournal(t), time.Now()
	enter := func(number string) error {
		return j.Visits.Enter(ctx, "code", number, "s", now, now.Add(time.Hour))
	}
	must(t, j.Visits.Admit(ctx, "code", Visitor{User: "@a:h", Until: now.Add(time.Minute), Number: "123456"}, now))
	for range maxTries - 1 {
		if err := enter("000000"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a wrong number: %v", err)
		}
	}
	must(t, enter("123456"))
	must(t, j.Visits.Admit(ctx, "code", Visitor{User: "@a:h", Until: now.Add(time.Minute), Number: "123456"}, now))
	for range maxTries {
		_ = enter("000000")
	}
	if err := enter("123456"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the right number after too many wrong ones: %v", err)
	}
}
