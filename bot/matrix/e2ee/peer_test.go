package e2ee

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/decode"
)

// peer is a user with one device: a client and its encryption. The test calls sync.
type peer struct {
	t     *testing.T
	cli   *mautrix.Client
	dir   string
	m     *Machine
	since string
	tune  func(*Config)
	seen  []seen            // room events, oldest first
	toUs  []json.RawMessage // to-device events of the last sync

	mu   sync.Mutex
	came []Key // from KeyArrived
}

// arrived returns the keys with which KeyArrived was called.
func (p *peer) arrived() []Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.came)
}

type seen struct {
	Room string
	Raw  json.RawMessage
}

var entered atomic.Int64

// enter registers a new account and opens its encryption.
func enter(t *testing.T, name string, tune ...func(*Config)) *peer {
	t.Helper()
	needHome(t)
	cli, err := mautrix.NewClient(home, "", "")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := cli.RegisterDummy(t.Context(), &mautrix.ReqRegister[any]{
		Username: fmt.Sprintf("%s%d", name, entered.Add(1)), Password: "password",
	})
	if err != nil {
		t.Fatal(err)
	}
	cli.UserID, cli.DeviceID, cli.AccessToken = resp.UserID, resp.DeviceID, resp.AccessToken
	p := &peer{t: t, cli: cli, dir: t.TempDir(), tune: func(c *Config) {
		for _, f := range tune {
			f(c)
		}
	}}
	p.open()
	return p
}

// second logs in to the same account as another device.
func (p *peer) second(tune ...func(*Config)) *peer {
	p.t.Helper()
	cli, err := mautrix.NewClient(home, "", "")
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = cli.Login(p.t.Context(), &mautrix.ReqLogin{
		Type:       mautrix.AuthTypePassword,
		Identifier: mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: p.cli.UserID.String()},
		Password:   "password", StoreCredentials: true,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	other := &peer{t: p.t, cli: cli, dir: p.t.TempDir(), tune: func(c *Config) {
		for _, f := range tune {
			f(c)
		}
	}}
	other.open()
	return other
}

// signed logs in as another device, which the account's identity signs.
func (p *peer) signed() *peer {
	p.t.Helper()
	key, err := os.ReadFile(filepath.Join(p.dir, "recovery-key"))
	if err != nil {
		p.t.Fatal(err)
	}
	return p.second(func(c *Config) { _ = os.WriteFile(filepath.Join(c.Dir, "recovery-key"), key, 0o600) })
}

func (p *peer) config() Config {
	cfg := Config{
		Client: p.cli, Dir: p.dir, Password: "password", Log: testLog(p.t, p.cli.UserID),
		KeyArrived: func(k Key) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.came = append(p.came, k)
		},
	}
	p.tune(&cfg)
	return cfg
}

func testLog(t *testing.T, user id.UserID) zerolog.Logger {
	if os.Getenv("MATRIX_TUI_DEBUG") == "" {
		return zerolog.Nop()
	}
	return zerolog.New(zerolog.NewTestWriter(t)).With().Stringer("me", user).Logger()
}

func (p *peer) open() {
	p.t.Helper()
	m, err := Open(p.t.Context(), p.config())
	if err != nil {
		p.t.Fatal(err)
	}
	p.m = m
	p.t.Cleanup(func() {
		if err := m.Close(); err != nil {
			p.t.Error(err)
		}
	})
}

// restart opens the machine again from disk.
func (p *peer) restart() {
	p.t.Helper()
	if err := p.m.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.open()
}

type syncResponse struct {
	NextBatch string `json:"next_batch"`
	Sync
	Rooms struct {
		Join map[string]struct {
			State    rawEvents `json:"state"`
			Timeline struct {
				rawEvents
				Limited bool `json:"limited"`
			} `json:"timeline"`
		} `json:"join"`
	} `json:"rooms"`
}

type rawEvents struct {
	Events []json.RawMessage `json:"events"`
}

// fetch makes a sync request without processing the response.
func (p *peer) fetch() *syncResponse {
	p.t.Helper()
	query := map[string]string{"timeout": "0"}
	if p.since != "" {
		query["since"], query["timeout"] = p.since, "200"
	}
	var resp syncResponse
	_, err := p.cli.MakeFullRequest(p.t.Context(), mautrix.FullRequest{
		Method: http.MethodGet, URL: p.cli.BuildURLWithQuery(mautrix.ClientURLPath{"v3", "sync"}, query), ResponseJSON: &resp,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return &resp
}

// fetchKeys is fetch, once there are to-device events: the homeserver may have them later than the message.
func (p *peer) fetchKeys() *syncResponse {
	p.t.Helper()
	for {
		if resp := p.fetch(); len(resp.ToDevice.Events) > 0 {
			return resp
		}
	}
}

// take processes a sync as the bot does.
func (p *peer) take(resp *syncResponse) {
	p.t.Helper()
	if err := p.tryTake(resp); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) tryTake(resp *syncResponse) error {
	ctx := p.t.Context()
	p.toUs = resp.ToDevice.Events
	if err := p.m.ProcessSync(ctx, resp.Sync, p.since == ""); err != nil {
		return err
	}
	for room, joined := range resp.Rooms.Join {
		events := decode.Timeline(room, append(append([]json.RawMessage{}, joined.State.Events...), joined.Timeline.Events...), func(error) {})
		if err := p.m.ProcessState(ctx, room, joined.Timeline.Limited, events); err != nil {
			return err
		}
		for _, raw := range joined.Timeline.Events {
			p.seen = append(p.seen, seen{room, raw})
		}
	}
	p.since = resp.NextBatch
	p.m.AfterCommit(ctx, resp.Sync)
	return nil
}

func (p *peer) sync() {
	p.t.Helper()
	p.take(p.fetch())
}

// until syncs until a condition holds.
func (p *peer) until(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(); p.sync() {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: timed out waiting for %s", p.cli.UserID, what)
		}
	}
}
