package admit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// keyless returns an event in the den whose key is missing.
func keyless(id, session string) state.Event {
	return state.Event{Status: state.Pending, Kind: event.KindUndecrypted, Event: event.Event{
		ID: id, Type: event.TypeEncrypted, Sender: "@ann:here", Room: den, Time: time.Now(),
		Encryption: event.MissingKey, Session: session, Raw: []byte(`{}`),
	}}
}

// wait has the keys of what is pending awaited, as the room's worker does.
func (a *admitting) wait(t *testing.T) {
	t.Helper()
	rows, err := a.Journal.Events.Pending(t.Context(), den, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := a.keys.Wait(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKindOfEncrypted(t *testing.T) {
	for _, c := range []struct {
		encryption event.Encryption
		sender     string
		hear       policy.Decision
		want       event.Kind
	}{
		{event.MissingKey, "@ann:here", policy.Decision{Heard: true}, event.KindUndecrypted},
		{event.Untrusted, "@ann:here", policy.Decision{Heard: true}, event.KindUndecrypted},
		{event.MissingKey, "@new:here", policy.Decision{Pair: true}, event.KindUndecrypted},
		{event.MissingKey, "@eve:there", policy.Decision{}, event.KindContext},
		{event.MissingKey, self, policy.Decision{Heard: true}, event.KindContext},
		{event.Undecryptable, "@ann:here", policy.Decision{Heard: true}, event.KindUndecryptable},
		{event.Undecryptable, "@new:here", policy.Decision{Pair: true}, event.KindContext},
		{event.Copy, "@ann:here", policy.Decision{Heard: true}, event.KindUndecryptable},
		{event.Copy, "@new:here", policy.Decision{Pair: true}, event.KindContext},
		{event.Decrypted, "@ann:here", policy.Decision{Heard: true}, event.KindContext}, // its content was of a type that is never encrypted
	} {
		e := event.Event{Type: event.TypeEncrypted, Sender: c.sender, Encryption: c.encryption}
		if got := judgedAs(e, func(event.Event) policy.Decision { return c.hear }); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.encryption, c.sender, got, c.want)
		}
	}
}

// The room is told once per key that it is missing, after a while; finally the events are
// given up.
func TestUndecrypted(t *testing.T) {
	a := newAdmission(t, "")
	untrusted := keyless("$4", "v")
	untrusted.Encryption, untrusted.Distrust = event.Untrusted, string(e2ee.NotSigned)
	rows, err := a.Journal.Events.Commit(t.Context(), "", []state.Event{keyless("$1", "s"), keyless("$2", "s"), keyless("$3", "u"), untrusted})
	if err != nil {
		t.Fatal(err)
	}
	a.wait(t)
	told := func() (about []string) {
		unsent, err := a.Journal.Messages.Unsent(t.Context(), den)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range unsent {
			if m.Kind == state.KindMissingKey {
				about = append(about, m.Target)
			}
		}
		return about
	}
	at := rows[0].At
	for _, c := range []struct {
		after     time.Duration
		told, are int
	}{{keyNoticeAfter / 2, 0, 4}, {2 * keyNoticeAfter, 2, 4}, {3 * keyNoticeAfter, 2, 4}, {keyDeadline + time.Minute, 2, 0}} {
		if err := a.keys.Check(t.Context(), at.Add(c.after), true); err != nil {
			t.Fatal(err)
		}
		left, err := a.Journal.Undecrypted.In(t.Context(), "", 0, 9)
		if err != nil || len(left) != c.are || len(told()) != c.told {
			t.Errorf("after %s: %d wait, the room was told of %q, %v", c.after, len(left), told(), err)
		}
	}
	if all := told(); !strings.Contains(all[0], "$1") || !strings.Contains(all[1], "$3") {
		t.Errorf("told of %q", all)
	}
}

func TestUndecryptedAreBounded(t *testing.T) {
	a := newAdmission(t, "")
	var many []state.Event
	for i := range maxUndecrypted + 3 {
		many = append(many, keyless(fmt.Sprint("$", i), "s"))
	}
	if _, err := a.Journal.Events.Commit(t.Context(), "", many); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the room is checked with each new event
		a.wait(t)
		left, err := a.Journal.Events.Pending(t.Context(), den, 0, 1000)
		if err != nil || len(left) != maxUndecrypted || left[len(left)-1].ID != fmt.Sprint("$", maxUndecrypted-1) {
			t.Errorf("%d wait, %v", len(left), err)
		}
	}
}

func TestDistrustSentence(t *testing.T) {
	for why, want := range map[e2ee.Distrust]string{
		e2ee.NotSigned: "your session is not verified", e2ee.NoIdentity: "which sessions are yours", e2ee.IdentityChanged: "`matrix-tui trust @ann:here`",
	} {
		if got := distrustSentence("@ann:here", why); !strings.Contains(got, want) || !strings.Contains(got, "@ann:here") {
			t.Errorf("%s: %s", why, got)
		}
	}
}

// A panic while a key is looked for stops nothing.
func TestPanicOfKeys(t *testing.T) {
	a := newAdmission(t, "")
	if _, err := a.Journal.Events.Commit(t.Context(), "", []state.Event{keyless("$1", "s"), keyless("$2", "u")}); err != nil {
		t.Fatal(err)
	}
	a.wait(t)
	a.keys.Group.Wait() // for the requests
	a.with(nil)
	err := a.keys.Check(t.Context(), time.Now(), true)
	a.keys.Group.Wait()
	if err != nil || strings.Count(a.log.String(), "panic while checking for a key") != 2 {
		t.Errorf("%v, log: %s", err, a.log.String())
	}
	rows, err := a.Journal.Events.Pending(t.Context(), den, 0, 10)
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	for _, row := range rows {
		if a.keys.IsMissing(row) {
			t.Errorf("the room's worker does not try %s", row.ID)
		}
	}
}
