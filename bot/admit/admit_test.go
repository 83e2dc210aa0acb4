package admit

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/alert"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/pending"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/presence"
	"matrix-tui/bot/queue"
	"matrix-tui/bot/roster"
	"matrix-tui/bot/timeline"
	"matrix-tui/bot/upgrade"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const (
	self = "@bot:here"
	den  = "!den:here"
)

// admitting is an admission without a homeserver, whose rooms only store what they are told.
type admitting struct {
	*Admission
	keys    *Keys
	dir     string
	log     strings.Builder
	present []string // rooms in which somebody is there
}

// newAdmission returns an admission under a policy.
func newAdmission(t *testing.T, rules string) *admitting {
	t.Helper()
	a := &admitting{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(a.dir, "policy.yaml"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	journal, err := state.OpenJournal(t.Context(), filepath.Join(a.dir, "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	store, err := state.OpenStore(t.Context(), journal, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	group := &queue.Group{Context: t.Context(), Log: zerolog.New(zerolog.SyncWriter(&a.log))}
	access := roster.Access{Policy: policy.Open(a.dir, zerolog.Nop()), Owners: []string{"@ann:here"}}
	judge := &Judge{Journal: journal, Roster: &roster.Roster{Access: access}, Profile: &presence.Profile{Group: group},
		Waits: pending.New(), Group: group, Joins: true}
	a.Admission = &Admission{Judge: judge, Receipts: &presence.Receipts{Group: group}, Store: store, Rooms: a, Watch: alert.New(alert.Config{StateDir: a.dir}),
		Upgrades: &upgrade.Shared{Journal: journal}}
	a.keys = &Keys{Judge: judge, Rooms: a}
	a.use(t, "http://127.0.0.1:1")
	return a
}

// use makes a homeserver the account's.
func (a *admitting) use(t *testing.T, homeserver string) {
	t.Helper()
	account, err := matrix.New(matrix.Config{Homeserver: homeserver, User: self, StateDir: t.TempDir(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(account.Close)
	a.with(account)
}

func (a *admitting) with(account *matrix.Account) {
	a.Account, a.Roster.Account, a.Profile.Account, a.Receipts.Account = account, account, account, account
	a.Timeline = timeline.New(a.Journal, account)
}

func (a *admitting) Echoed(ctx context.Context, e event.Event) error {
	return a.Journal.Messages.MarkSent(ctx, e.Transaction, e.ID)
}

func (a *admitting) Stored(state.Event)                   {}
func (a *admitting) Wake(string)                          {}
func (a *admitting) Alarm(context.Context, string, error) {}
func (a *admitting) Present(room string, _ []string, is bool) {
	if is {
		a.present = append(a.present, room)
	}
}

func (a *admitting) Queue(ctx context.Context, m state.Message) error {
	return a.Journal.Messages.Queue(ctx, m)
}

// decoded returns an event of a room as the homeserver sends it.
func decoded(t *testing.T, raw string) event.Event {
	t.Helper()
	e, err := decode.FromServer(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return e
}
