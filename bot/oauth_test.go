package bot

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/bottest/oauthserver"
	"matrix-tui/bot/bottest/person"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/matrix/oauth"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// A bot whose access tokens live for two seconds reads and answers everything once, although an answer with new tokens gets
// lost and the OAuth 2.0 server is down for longer than a token lives. When its login is ended, it waits until somebody logs
// in again, and continues as the same device.
func TestOAuth(t *testing.T) {
	url, ctx, dir := homeserver(t), t.Context(), t.TempDir()
	must := musts(t)
	enter := enters(t, url)
	ann, account := enter("ann", person.SignedKeys), enter("bot", person.NoKeys)
	server, err := oauthserver.New(url)
	must(err)
	t.Cleanup(server.Close)
	server.Life = 2 * time.Second
	cfg := matrix.Config{Homeserver: server.URL(), User: account.ID(), StateDir: dir, Log: zerolog.Nop()}
	logIn := func() (device string) {
		t.Helper()
		user, device, err := matrix.LogInWithCode(ctx, cfg, func(c *oauth.Code) { must(server.Confirm(ctx, c.Text, "bot", "password")) })
		must(err)
		if user != account.ID() {
			t.Fatal("logged in as ", user)
		}
		return device
	}
	stored := func() (device, token string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, "account.json"))
		must(err)
		var account struct {
			DeviceID    string `json:"device_id"`
			AccessToken string `json:"access_token"`
		}
		must(json.Unmarshal(data, &account))
		return account.DeviceID, account.AccessToken
	}

	device := logIn()
	must(os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("defaults:\n  allow: ['@*:*']\n  reply: all\n"), 0o600))
	journal, err := state.OpenJournal(ctx, filepath.Join(dir, "journal.db"), zerolog.Nop())
	must(err)
	t.Cleanup(func() { _ = journal.Close() })
	store, err := state.OpenStore(ctx, journal, zerolog.Nop())
	must(err)
	t.Cleanup(func() { _ = store.Close() })
	b, err := New(Config{Homeserver: server.URL(), User: account.ID(), StateDir: dir, Owners: []string{ann.ID()}, Log: zerolog.Nop()},
		Parts{Journal: journal, Store: store, Gateway: testGateway, Route: gemini.NewRoute(gemini.RouteConfig{}, testGateway)})
	must(err)
	b.ctx, b.work.Context = ctx, ctx
	t.Cleanup(func() { b.work.Wait(); b.account.Close() })
	must(b.account.Login(ctx))
	_, token := stored()
	if seen, err := e2ee.Look(ctx, server.URL(), token); err != nil || seen.Device != device || seen.Problem != "" {
		t.Errorf("the device is not signed: %+v, %v", seen, err)
	}

	room, err := ann.CreateRoom(ctx, person.RoomSpec{Encrypted: true, Invite: []string{account.ID()}})
	must(err)
	must(b.account.Rooms.Join(ctx, room))
	must(b.admission.Sync(ctx, 0))
	var said, heard, clear []string // by the bot, by ann
	var sending sync.WaitGroup
	ended := false
	talk := func() {
		t.Helper()
		text := fmt.Sprint("out ", len(said))
		said = append(said, text)
		sending.Go(func() {
			for end := time.Now().Add(30 * time.Second); ; {
				_, err := b.account.Messages.Send(ctx, state.Message{Room: room, Txn: text, Notice: true, Body: text})
				if err == nil {
					return
				}
				if !matrix.Temporary(err) && !matrix.IsNotEncrypted(err) || time.Now().After(end) {
					t.Errorf("%s: %v", text, err)
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
		if ended { // ann may not know the device again yet
			id, err := ann.SendClear(ctx, room, event.TypeMessage, map[string]string{"msgtype": "m.text", "body": "in clear"})
			must(err)
			clear = append(clear, id)
		} else {
			id, err := ann.Say(ctx, room, fmt.Sprint("in ", len(heard)))
			must(err)
			heard = append(heard, id)
		}
		must(b.admission.Sync(ctx, 100*time.Millisecond))
	}
	refreshes := func(n int) {
		t.Helper()
		for n, end := server.Refreshed()+n, time.Now().Add(30*time.Second); server.Refreshed() < n; talk() {
			if time.Now().After(end) {
				t.Fatal("the token is not renewed")
			}
		}
	}
	refreshes(2)
	server.LoseNext()
	refreshes(2)
	server.Down(true)
	time.AfterFunc(3*time.Second, func() { server.Down(false) })
	refreshes(1)

	sending.Wait()
	ended = true
	server.EndAll()
	synced := make(chan error, 1)
	go func() { synced <- b.admission.Sync(ctx, 0) }()
	for end := time.Now().Add(30 * time.Second); !b.account.Ended(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the bot does not wait for a login")
		}
	}
	if again := logIn(); again != device {
		t.Errorf("device %s instead of %s", again, device)
	}
	must(<-synced)
	talk()
	refreshes(1)

	sending.Wait()
	for end := time.Now().Add(30 * time.Second); ; {
		var missing []string
		for n, id := range slices.Concat(heard, clear) {
			if row, err := journal.Events.Get(ctx, room, id); err != nil || n < len(heard) && !row.IsDecrypted() {
				missing = append(missing, fmt.Sprint(n, err, row.Encryption))
			}
		}
		if missing == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the bot misses some of %d messages: %q", len(heard), missing)
		}
		must(b.admission.Sync(ctx, 100*time.Millisecond))
	}
	for _, text := range said {
		_, err := ann.Wait(ctx, room, func(m person.Msg) bool { return m.Body == text })
		must(err)
	}
	var read []string
	for _, m := range ann.Messages(room) {
		if m.Sender == account.ID() && slices.Contains(said, m.Body) {
			read = append(read, m.Body)
		}
	}
	if len(read) != len(said) {
		t.Errorf("ann reads %d of %d messages", len(read), len(said))
	}
	if wrong := server.Refused(); wrong != nil {
		t.Error(wrong)
	}
	t.Logf("%d messages in each direction, %d refreshes", len(said), server.Refreshed())
}
