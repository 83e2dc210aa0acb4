package bot

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/bottest/person"
	"matrix-tui/bot/bottest/proxy"
	"matrix-tui/bot/matrix"
	"matrix-tui/state"
)

// A room whose one-time keys cannot be claimed delays neither a new login nor what is sent to other rooms meanwhile. Its
// own message is sent in the new session.
func TestLoginDuringHangingClaim(t *testing.T) {
	url, ctx, dir := homeserver(t), t.Context(), t.TempDir()
	must := musts(t)
	through, err := proxy.New(url)
	must(err)
	t.Cleanup(through.Close)
	enter := enters(t, url)
	ann, bob, bot := enter("ann", person.SignedKeys), enter("bob", person.SignedKeys), enter("bot", person.NoKeys)
	a, err := matrix.New(matrix.Config{Homeserver: through.URL(), User: bot.ID(), Password: "password", StateDir: dir, Log: zerolog.Nop()})
	must(err)
	t.Cleanup(a.Close)
	must(a.Login(ctx))
	roomOf := func(p *person.Person) string {
		t.Helper()
		name, err := p.CreateRoom(ctx, person.RoomSpec{Encrypted: true, Invite: []string{bot.ID()}})
		must(err)
		must(a.Rooms.Join(ctx, name))
		return name
	}
	send := func(room, text string) error {
		_, err := a.Messages.Send(ctx, state.Message{Room: room, Txn: text, Notice: true, Body: text})
		return err
	}
	reads := func(p *person.Person, room, text string) {
		t.Helper()
		_, err := p.Wait(ctx, room, func(m person.Msg) bool { return m.Body == text })
		must(err)
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		begun := time.Now()
		for done := false; !done; {
			if done = ok(); time.Since(begun) > 10*time.Second { // the claim may take twice as long
				t.Fatal("waited in vain until ", what)
			}
			runtime.Gosched()
		}
	}
	near, far := roomOf(bob), roomOf(ann)
	must(send(near, "before"))
	reads(bob, near, "before")

	through.Hold(regexp.MustCompile(`^POST .*/keys/claim$`))
	sent, loggedIn := make(chan error, 1), make(chan error, 1)
	go func() { sent <- send(far, "slow") }()
	until("the claim hangs", func() bool { n, _ := through.Held(); return n == 1 })
	endSession(t, url, filepath.Join(dir, "account.json"))
	go func() { loggedIn <- a.Login(ctx) }()
	until("the other room's message is sent", func() bool {
		err := send(near, "meanwhile")
		if err != nil && !matrix.Temporary(err) && !matrix.IsNotEncrypted(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	until("the bot has logged in", func() bool {
		select {
		case err := <-loggedIn:
			must(err)
			return true
		default:
			return false
		}
	})
	reads(bob, near, "meanwhile")
	if err := <-sent; !matrix.IsNotEncrypted(err) {
		t.Errorf("what the old session has encrypted: %v", err)
	}
	through.Release()
	must(send(far, "slow"))
	reads(ann, far, "slow")
}

// endSession logs out the session of an account file.
func endSession(t *testing.T, homeserver, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, homeserver+"/_matrix/client/v3/logout", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+stored.AccessToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal("logout: ", resp.Status)
	}
}
