package e2ee

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/goolm/account"
	"maunium.net/go/mautrix/id"
)

// lossy notes the one-time keys that are uploaded, and loses the homeserver's next answers.
type lossy struct {
	lose int
	keys []id.Curve25519
}

func (u *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/keys/upload") {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var req mautrix.ReqUploadKeys
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	for _, key := range req.OneTimeKeys {
		if !slices.Contains(u.keys, key.Key) {
			u.keys = append(u.keys, key.Key)
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && u.lose > 0 {
		u.lose--
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// kept reports how many of the uploaded keys the device still has.
func (u *lossy) kept(p *peer) (kept int) {
	for _, key := range p.m.mach.GetAccount().Internal.(*account.Account).OTKeys {
		if slices.Contains(u.keys, key.Key.B64Encoded()) {
			kept++
		}
	}
	return kept
}

// The homeserver has keys although its answers to their uploads are lost, and people use them.
func TestLostAnswersToUploads(t *testing.T) {
	u := &lossy{}
	bot := enter(t, "bot", func(c *Config) { c.Client.Client = &http.Client{Transport: u} })
	bot.restart()
	bot.m.mu.Lock()
	bot.m.mach.GetAccount().Shared = false // as at the first start
	u.lose = 4
	for u.lose > 0 {
		if bot.m.publish(t.Context()) == nil {
			t.Error("an upload without an answer counts")
		}
	}
	err := bot.m.publish(t.Context())
	bot.m.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if kept := u.kept(bot); kept != len(u.keys) || kept == 0 {
		t.Errorf("%d of %d published one-time keys are left", kept, len(u.keys))
	}
	alice := enter(t, "alice")
	room := alice.room(bot)
	bot.sync()
	if got := bot.reads(room, alice.say(room, "hello")); got != "hello" {
		t.Errorf("reads %q", got)
	}
}
