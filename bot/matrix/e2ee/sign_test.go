package e2ee

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"
)

func status(t *testing.T, p *peer) Status {
	t.Helper()
	s, err := Look(t.Context(), home, p.cli.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	if why := p.m.Unsigned(); why != nil {
		s.Signed, s.Problem = false, why.Error()
	}
	if s.Device != p.cli.DeviceID.String() || s.Fingerprint == "" {
		t.Errorf("status: %+v", s)
	}
	return s
}

func mode(t *testing.T, p *peer, name string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(p.dir, name))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", name, info, err)
	}
}

func TestSignature(t *testing.T) {
	bot := enter(t, "bot")
	key := bot.m.RecoveryKey()
	file, err := os.ReadFile(filepath.Join(bot.dir, "recovery-key"))
	if err != nil || key == "" || strings.TrimSpace(string(file)) != key {
		t.Errorf("recovery key: %v", err)
	}
	for _, name := range []string{"recovery-key", "crypto.key", "crypto.db", "crypto.db-wal"} {
		mode(t, bot, name)
	}
	if s := status(t, bot); !s.Signed || s.Problem != "" {
		t.Errorf("status: %+v", s)
	}
	// as seen by another user
	alice := enter(t, "alice")
	if _, err := alice.m.mach.FetchKeys(t.Context(), []id.UserID{bot.cli.UserID}, true); err != nil {
		t.Fatal(err)
	}
	device, err := alice.m.store.GetDevice(t.Context(), bot.cli.UserID, bot.cli.DeviceID)
	if err != nil || device == nil {
		t.Fatalf("device: %v", err)
	}
	if trust, err := alice.m.mach.ResolveTrustContext(t.Context(), device); err != nil || trust != id.TrustStateCrossSignedTOFU {
		t.Errorf("alice sees a device that is %s, %v", trust, err)
	}
	// a second device of the account, with the recovery key
	other := bot.second(func(c *Config) { _ = os.WriteFile(filepath.Join(c.Dir, "recovery-key"), file, 0o600) })
	if s := status(t, other); !s.Signed {
		t.Errorf("with the recovery key: %+v", s)
	}
	if other.m.RecoveryKey() != "" {
		t.Error("a new recovery key was created although there is one")
	}
	// another device without it
	third := bot.second()
	for p, signed := range map[*peer]bool{bot: true, other: true, third: false} {
		if s, err := Look(t.Context(), home, p.cli.AccessToken); err != nil || s.Signed != signed || s.Fingerprint != p.m.mach.Fingerprint() || s.Signed != (s.Problem == "") {
			t.Errorf("Look: %+v, %v", s, err)
		}
	}
	if s := status(t, third); s.Signed || !strings.Contains(s.Problem, "recovery-key") {
		t.Errorf("without the recovery key: %+v", s)
	}
	if s := status(t, bot); !s.Signed {
		t.Errorf("the other devices changed the first: %+v", s)
	}
}

// asking is a proxy that requires the password for new cross-signing keys, as some
// homeservers do. flows is what it says about that.
func asking(t *testing.T, flows string) *url.URL {
	t.Helper()
	to, err := url.Parse(home)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/keys/device_signing/upload") {
			body, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(body), `"password":"password"`) || !strings.Contains(string(body), `"session":"asked"`) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"session":"asked",`+flows+`}`)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSignatureNeedsPassword(t *testing.T) {
	needHome(t)
	owner := asking(t, `"flows":[{"stages":["m.oauth"]}],"params":{"m.oauth":{"url":"https://account.example.org/keys"}}`)
	oauth := enter(t, "oauth", func(c *Config) { c.Client.HomeserverURL, c.Password = owner, "" })
	if s := status(t, oauth); s.Signed || !strings.Contains(s.Problem, "open https://account.example.org/keys, allow it") {
		t.Errorf("status: %+v", s)
	}
	at := asking(t, `"flows":[{"stages":["m.login.password"]}],"params":{}`)
	bot := enter(t, "bot", func(c *Config) { c.Client.HomeserverURL, c.Password = at, "" })
	s := status(t, bot)
	if s.Signed || !strings.Contains(s.Problem, "MATRIX_PASSWORD") {
		t.Errorf("status: %+v", s)
	}
	made, err := os.ReadFile(filepath.Join(bot.dir, "recovery-key"))
	if err != nil {
		t.Fatal(err)
	}
	bot.tune = func(c *Config) {} // now with the password
	bot.restart()
	if s := status(t, bot); !s.Signed {
		t.Errorf("with the password: %+v", s)
	}
	if now, err := os.ReadFile(filepath.Join(bot.dir, "recovery-key")); err != nil || string(now) != string(made) {
		t.Errorf("the recovery key has changed, %v", err)
	}
}

func TestWrongPlace(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	msg := alice.say(room, "before the new login")
	bot.reads(room, msg)
	if err := bot.m.Close(); err != nil {
		t.Fatal(err)
	}
	// a device whose keys are lost must not create others
	lost := bot.config()
	lost.Dir = t.TempDir()
	_, err := Open(t.Context(), lost)
	var said interface{ Sentence() string }
	if !errors.Is(err, ErrForeignDevice) || !errors.As(err, &said) {
		t.Errorf("without its keys: %v", err)
	}
	// crypto.db of another account
	strange := alice.config()
	strange.Dir = bot.dir
	if _, err := Open(t.Context(), strange); !errors.Is(err, ErrOtherAccount) || !errors.As(err, &said) {
		t.Errorf("crypto.db of another: %v", err)
	}
	// crypto.db without crypto.key
	if err := os.Rename(filepath.Join(bot.dir, "crypto.key"), filepath.Join(bot.dir, "away")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), bot.config()); err == nil || !strings.Contains(err.Error(), "crypto.key") {
		t.Errorf("without crypto.key: %v", err)
	}
	if err := os.Rename(filepath.Join(bot.dir, "away"), filepath.Join(bot.dir, "crypto.key")); err != nil {
		t.Fatal(err)
	}
	// a new login is a new, signed device, which can read what the old one could
	_, err = bot.cli.Login(t.Context(), &mautrix.ReqLogin{
		Type: mautrix.AuthTypePassword, Password: "password", StoreCredentials: true,
		Identifier: mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: bot.cli.UserID.String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	bot.since = ""
	bot.open()
	if s := status(t, bot); !s.Signed || bot.m.RecoveryKey() != "" {
		t.Errorf("after the new login: %+v", s)
	}
	if got := bot.reads(room, msg); got != "before the new login" {
		t.Errorf("reads %q", got)
	}
	alice.sync()
	if got := bot.reads(room, alice.say(room, "to the new one")); got != "to the new one" {
		t.Errorf("reads %q", got)
	}
	if got := alice.reads(room, bot.say(room, "from the new one")); got != "from the new one" {
		t.Errorf("alice reads %q", got)
	}
}

// On logout the homeserver forgets a device's keys; the same device may come back.
func TestSameDeviceComesBack(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	bot.reads(room, alice.say(room, "hello"))
	device := bot.cli.DeviceID
	if _, err := bot.cli.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := bot.cli.Login(t.Context(), &mautrix.ReqLogin{
		Type: mautrix.AuthTypePassword, Password: "password", StoreCredentials: true, DeviceID: device,
		Identifier: mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: bot.cli.UserID.String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	bot.restart()
	if s := status(t, bot); !s.Signed {
		t.Errorf("status: %+v", s)
	}
	alice.sync()
	if got := bot.reads(room, alice.say(room, "welcome back")); got != "welcome back" {
		t.Errorf("reads %q", got)
	}
}

// A device that could not be signed because the homeserver had trouble is signed later.
func TestSignAgain(t *testing.T) {
	trouble := &trouble{path: "/keys/device_signing/upload"}
	trouble.on.Store(true)
	bot := enter(t, "bot", func(c *Config) { c.Client.Client = &http.Client{Transport: trouble} })
	if s := status(t, bot); s.Signed || !strings.Contains(s.Problem, "502") {
		t.Errorf("during the trouble: %+v", s)
	}
	if err := bot.m.SignAgain(t.Context()); err != nil || bot.m.Unsigned() == nil {
		t.Errorf("still during the trouble: %v, %v", err, bot.m.Unsigned())
	}
	trouble.on.Store(false)
	if err := bot.m.SignAgain(t.Context()); err != nil || bot.m.Unsigned() != nil {
		t.Errorf("after it: %v, %v", err, bot.m.Unsigned())
	}
	if s := status(t, bot); !s.Signed || s.Problem != "" {
		t.Errorf("after it: %+v", s)
	}
}

// trouble answers requests for a path as a proxy would whose homeserver is away.
type trouble struct {
	path string
	on   atomic.Bool
}

func (x *trouble) RoundTrip(r *http.Request) (*http.Response, error) {
	if x.on.Load() && strings.HasSuffix(r.URL.Path, x.path) {
		return &http.Response{StatusCode: 502, Status: "502 Bad Gateway", Body: http.NoBody, Header: http.Header{}, Request: r}, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}
