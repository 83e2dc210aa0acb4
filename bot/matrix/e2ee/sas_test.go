package e2ee

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/util/jsontime"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/verificationhelper"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// element is a user who verifies with a client like Element: she starts, and confirms
// once she has seen the emojis on both sides.
type element struct {
	p      *peer
	cli    *mautrix.Client
	helper *verificationhelper.VerificationHelper
	store  verificationhelper.VerificationStore
	todo   []func(context.Context) error
	saw    []string
	shown  bool
	done   bool
	ended  event.VerificationCancelCode
}

func newElement(p *peer) *element {
	p.t.Helper()
	cli, err := mautrix.NewClient(home, p.cli.UserID, p.cli.AccessToken)
	if err != nil {
		p.t.Fatal(err)
	}
	cli.DeviceID, cli.Crypto = p.cli.DeviceID, encrypter{s: p.m.sender}
	cli.StateStore = stateStore{mautrix.NewMemoryStateStore(), p.m.rooms}
	e := &element{p: p, cli: cli, store: verificationhelper.NewInMemoryVerificationStore()}
	e.helper = verificationhelper.NewVerificationHelper(cli, p.m.mach, e.store, e, false, false, true)
	if err := e.helper.Init(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	return e
}

func (e *element) VerificationRequested(context.Context, id.VerificationTransactionID, id.UserID, id.DeviceID) {
}
func (e *element) VerificationReady(_ context.Context, txn id.VerificationTransactionID, _ id.DeviceID, _, _ bool, _ *verificationhelper.QRCode) {
	e.todo = append(e.todo, func(ctx context.Context) error { return e.helper.StartSAS(ctx, txn) })
}
func (e *element) VerificationCancelled(_ context.Context, _ id.VerificationTransactionID, code event.VerificationCancelCode, _ string) {
	e.ended = code
}
func (e *element) VerificationDone(context.Context, id.VerificationTransactionID, event.VerificationMethod) {
	e.done = true
}
func (e *element) ShowSAS(_ context.Context, txn id.VerificationTransactionID, emojis []rune, names []string, _ []int) {
	e.shown = true
	for i, emoji := range emojis {
		e.saw = append(e.saw, string(emoji)+" "+names[i])
	}
	e.todo = append(e.todo, func(ctx context.Context) error { return e.helper.ConfirmSAS(ctx, txn) })
}

func (e *element) dispatch(evt *event.Event) {
	e.cli.Syncer.(*mautrix.DefaultSyncer).Dispatch(e.p.t.Context(), evt)
	for len(e.todo) > 0 {
		act := e.todo[0]
		e.todo = e.todo[1:]
		if err := act(e.p.t.Context()); err != nil {
			e.p.t.Error(err)
		}
	}
}

// sync processes the events to her device and in the room.
func (e *element) sync(room string) {
	before := len(e.p.seen)
	e.p.sync()
	for _, raw := range e.p.toUs {
		if evt, ok := parseToDevice(raw); ok {
			e.dispatch(evt)
		}
	}
	for _, s := range e.p.seen[before:] {
		if s.Room != room {
			continue
		}
		if plain, err := decrypted(e.p.m, e.p.t.Context(), room, s.Raw); err == nil {
			var evt event.Event
			if err := json.Unmarshal(plain.Raw, &evt); err != nil {
				e.p.t.Fatal(err)
			}
			evt.RoomID, evt.Type.Class = id.RoomID(room), event.MessageEventType
			if evt.Sender == e.p.cli.UserID || evt.Content.ParseRaw(evt.Type) != nil {
				continue
			}
			evt.ID = id.EventID(transaction(&evt))
			e.dispatch(&evt)
		}
	}
}

// startIn replaces the helper's StartInRoomVerification, which encrypts its request twice.
func (e *element) startIn(room string, with id.UserID) error {
	content, err := json.Marshal(&event.MessageEventContent{
		MsgType: event.MsgVerificationRequest, Body: "verify me", To: with,
		FromDevice: e.cli.DeviceID, Methods: []event.VerificationMethod{event.VerificationMethodSAS},
	})
	if err != nil {
		return err
	}
	return e.store.SaveVerificationTransaction(e.p.t.Context(), verificationhelper.VerificationTransaction{
		ExpirationTime: jsontime.UM(time.Now().Add(10 * time.Minute)), RoomID: id.RoomID(room), TheirUserID: with,
		VerificationState: verificationhelper.VerificationStateRequested,
		TransactionID:     id.VerificationTransactionID(e.p.send(room, "m.room.message", content)),
	})
}

func TestVerification(t *testing.T) {
	for name, inRoom := range map[string]bool{"to the device": false, "in the room": true} {
		t.Run(name, func(t *testing.T) {
			var shown []SAS
			alice := enter(t, "alice")
			bot := enter(t, "bot", func(c *Config) {
				c.Owner = func(user string) bool { return user == alice.cli.UserID.String() }
				c.ShowSAS = func(s SAS) { shown = append(shown, s) }
			})
			room := alice.room(bot)
			e := newElement(alice)
			var err error
			if inRoom {
				err = e.startIn(room, bot.cli.UserID)
			} else {
				_, err = e.helper.StartVerification(t.Context(), bot.cli.UserID)
			}
			if err != nil {
				t.Fatal(err)
			}
			open := func() int { return len(bot.m.verify.active) }
			for deadline := time.Now().Add(5 * time.Minute); (!e.done || open() > 0) && e.ended == ""; e.sync(room) {
				if time.Now().After(deadline) {
					t.Fatalf("the verification did not finish: done %v, open %d", e.done, open())
				}
				before := len(bot.seen)
				bot.sync()
				for _, s := range bot.seen[before:] {
					if plain, err := decrypted(bot.m, t.Context(), s.Room, s.Raw); err == nil {
						bot.m.ProcessVerification(t.Context(), plain)
						if plain.Type == "m.room.message" && time.Since(plain.Time) < settleTime {
							t.Error("the answer may overtake the homeserver's response to the request")
						}
					}
				}
			}
			if e.ended != "" {
				t.Fatalf("done %v, ended %q, open %d", e.done, e.ended, open())
			}
			if len(shown) != 1 || shown[0].User != alice.cli.UserID.String() || len(e.saw) != 7 {
				t.Fatalf("shown: %+v, she saw %v", shown, e.saw)
			}
			if diff := cmp.Diff(e.saw, shown[0].Emojis); diff != "" {
				t.Errorf("they see different emojis: %s", diff)
			}
			for _, pair := range [][2]*peer{{alice, bot}, {bot, alice}} {
				if trusts, err := pair[0].m.mach.IsUserTrusted(t.Context(), pair[1].cli.UserID); err != nil || !trusts {
					t.Errorf("%s trusts %s: %v, %v", pair[0].cli.UserID, pair[1].cli.UserID, trusts, err)
				}
			}
			bot.restart()
			if trusts, err := bot.m.mach.IsUserTrusted(t.Context(), alice.cli.UserID); err != nil || !trusts {
				t.Errorf("after a restart: %v, %v", trusts, err)
			}
		})
	}
}

func TestStrangersAreNotVerified(t *testing.T) {
	shown := 0
	mallory := enter(t, "mallory")
	bot := enter(t, "bot", func(c *Config) {
		c.Owner = func(user string) bool { return user == "@alice:localhost" }
		c.ShowSAS = func(SAS) { shown++ }
	})
	e := newElement(mallory)
	if _, err := e.helper.StartVerification(t.Context(), bot.cli.UserID); err != nil {
		t.Fatal(err)
	}
	bot.until("the request", func() bool { return len(bot.toUs) > 0 })
	e.sync("")
	if len(bot.m.verify.active) != 0 || shown != 0 || e.shown || len(mallory.toUs) > 0 {
		t.Errorf("open %d, shown %d; she got %s", len(bot.m.verify.active), shown, join(mallory.toUs))
	}
}

// The answers to an owner's verification do not wait for the others in the room.
func TestVerificationBesideDeadServer(t *testing.T) {
	d := newDead(t)
	alice, carol := enter(t, "alice"), enter(t, "carol")
	bot := enter(t, "bot", func(c *Config) {
		c.Client.HomeserverURL = d.at
		c.Owner = func(user string) bool { return user == alice.cli.UserID.String() }
	})
	room := alice.room(bot, carol)
	bot.sync()
	defer d.gone(carol)()
	e := newElement(alice)
	if err := alice.m.prepare(t.Context(), id.RoomID(room), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := e.startIn(room, bot.cli.UserID); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); !e.done && e.ended == ""; e.sync(room) {
		if time.Now().After(deadline) {
			t.Fatal("the verification did not finish")
		}
		before := len(bot.seen)
		bot.sync()
		for _, s := range bot.seen[before:] {
			if plain, err := decrypted(bot.m, t.Context(), s.Room, s.Raw); err == nil {
				bot.m.ProcessVerification(t.Context(), plain)
			}
		}
	}
	if !e.done || len(d.held) > 0 {
		t.Errorf("done %v, ended %q; %d requests wait", e.done, e.ended, len(d.held))
	}
}
