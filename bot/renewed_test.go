package bot

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// homeserver starts a homeserver for one test, or skips the test if there is none.
func homeserver(t *testing.T) (url string) {
	t.Helper()
	scripts, err := filepath.Abs("../deploy")
	if err != nil {
		t.Fatal(err)
	}
	software := host.Dendrite(scripts)
	if lacks := software.Missing(); lacks != "" {
		if os.Getenv("MATRIX_TUI_E2E") == "require" {
			t.Fatal(lacks)
		}
		t.Skip("NOT RUN: " + lacks)
	}
	h, err := host.NewHomeserver(t.TempDir(), software)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Stop(context.Background()) })
	return h.URL()
}

// musts returns a function that ends the test at an error.
func musts(t *testing.T) func(error) {
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// enters returns a function that creates an account on a homeserver, and a session of it.
func enters(t *testing.T, url string) func(name string, keys person.Keys) *person.Person {
	return func(name string, keys person.Keys) *person.Person {
		t.Helper()
		p, err := person.Enter(t.Context(), person.Config{Homeserver: url, Name: name, Password: "password", Keys: keys})
		musts(t)(err)
		t.Cleanup(p.Close)
		return p
	}
}

// A key may come while the session is renewed: the encryption that stores it does not know that an event waits for it,
// and reports nothing. The regular check finds the event.
func TestKeyComesWhileTheSessionIsRenewed(t *testing.T) {
	url, ctx, dir := homeserver(t), t.Context(), t.TempDir()
	must := musts(t)
	enter := enters(t, url)
	ann, account := enter("ann", person.SignedKeys), enter("bot", person.NoKeys)
	must(os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("defaults:\n  allow: ['@*:*']\n  reply: all\n"), 0o600))
	journal, err := state.OpenJournal(ctx, filepath.Join(dir, "journal.db"), zerolog.Nop())
	must(err)
	t.Cleanup(func() { _ = journal.Close() })
	store, err := state.OpenStore(ctx, journal, zerolog.Nop())
	must(err)
	t.Cleanup(func() { _ = store.Close() })
	b, err := New(Config{Homeserver: url, User: account.ID(), Password: "password", StateDir: dir, Owners: []string{ann.ID()}, Log: zerolog.Nop()},
		Parts{Journal: journal, Store: store, Gateway: testGateway, Route: gemini.NewRoute(gemini.RouteConfig{}, testGateway)})
	must(err)
	b.ctx, b.work.Context = ctx, ctx
	t.Cleanup(func() { b.work.Wait(); b.account.Close() })
	must(b.account.Login(ctx))

	name, err := ann.CreateRoom(ctx, person.RoomSpec{Encrypted: true, Invite: []string{account.ID()}})
	must(err)
	must(b.account.Rooms.Join(ctx, name))
	d := &deciding{room: b.room(name), t: t}
	pending := func() []state.Event {
		t.Helper()
		rows, err := journal.Events.Pending(ctx, name, 0, 100)
		must(err)
		return rows
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !ok(); {
			if time.Now().After(end) {
				t.Fatal("waited in vain until ", what)
			}
			must(b.admission.Sync(ctx, time.Second))
		}
	}
	first, err := ann.SendClear(ctx, name, event.TypeMessage, map[string]string{"msgtype": "m.text", "body": "in clear"})
	must(err)
	until("the bot is in the room", func() bool {
		_, err := journal.Events.Get(ctx, name, first)
		return err == nil
	})
	must(journal.Events.FinishUpTo(ctx, name, 1<<60)) // what belongs to the invitation

	must(ann.HoldKeys(ctx, true))
	said, err := ann.Say(ctx, name, "do it")
	must(err)
	until("the message is stored", func() bool {
		row, err := journal.Events.Get(ctx, name, said)
		return err == nil && row.Encryption == event.MissingKey
	})
	d.decides() // it waits
	must(b.account.Login(ctx))
	must(ann.HoldKeys(ctx, false))
	later, err := ann.SendClear(ctx, name, event.TypeMessage, map[string]string{"msgtype": "m.text", "body": "in clear"})
	must(err)
	until("what came after the key is stored", func() bool { // to ask for the key itself would make the encryption report it
		_, err := journal.Events.Get(ctx, name, later)
		return err == nil
	})
	d.decides()
	if rows := pending(); len(d.line()) != 0 || len(rows) != 1 || rows[0].ID != said {
		t.Fatalf("somebody has reported the key: %q, %d wait", d.line(), len(rows))
	}
	must(b.keys.Check(ctx, time.Now(), false))
	d.decides()
	if diff := cmp.Diff([]string{"do it"}, d.line()); diff != "" || len(pending()) != 0 {
		t.Errorf("%s, and %d wait", diff, len(pending()))
	}
}
