package e2ee

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// peer is somebody with a device: a client, its encryption, and a sync loop
// that the test turns by hand.
type peer struct {
	t     *testing.T
	cli   *mautrix.Client
	dir   string
	m     *Machine
	since string
	tune  func(*Config)
	seen  []seen // room events, oldest first
	came  []Key
	toUs  []json.RawMessage // to-device events of the last sync
}

type seen struct {
	Room string
	Raw  json.RawMessage
}

var people atomic.Int64

// enter registers a new account and opens its encryption.
func enter(t *testing.T, name string, tune ...func(*Config)) *peer {
	t.Helper()
	needHome(t)
	cli, err := mautrix.NewClient(home, "", "")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := cli.RegisterDummy(t.Context(), &mautrix.ReqRegister[any]{
		Username: fmt.Sprintf("%s%d", name, people.Add(1)), Password: "password",
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

// second logs the account in as another device.
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

func (p *peer) config() Config {
	cfg := Config{
		Client: p.cli, Dir: p.dir, Password: "password", Log: testLog(p.t, p.cli.UserID),
		KeyCame: func(k Key) { p.came = append(p.came, k) },
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

// restart opens the machine again from what is on disk.
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

// fetch asks for a sync and takes nothing of it.
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

// take does with a sync what a bot does.
func (p *peer) take(resp *syncResponse) {
	p.t.Helper()
	ctx := p.t.Context()
	p.toUs = resp.ToDevice.Events
	if err := p.m.TakeSync(ctx, resp.Sync, p.since == ""); err != nil {
		p.t.Fatal(err)
	}
	for room, joined := range resp.Rooms.Join {
		events := append(append([]json.RawMessage{}, joined.State.Events...), joined.Timeline.Events...)
		if err := p.m.TakeState(ctx, room, joined.Timeline.Limited, events); err != nil {
			p.t.Fatal(err)
		}
		for _, raw := range joined.Timeline.Events {
			p.seen = append(p.seen, seen{room, raw})
		}
	}
	p.since = resp.NextBatch
}

func (p *peer) sync() {
	p.t.Helper()
	p.take(p.fetch())
}

// until syncs until it holds.
func (p *peer) until(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); p.sync() {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: waited in vain for %s", p.cli.UserID, what)
		}
	}
}

// room makes an encrypted room with all of them in it; they have synced it.
func (p *peer) room(others ...*peer) string {
	p.t.Helper()
	ctx := p.t.Context()
	req := &mautrix.ReqCreateRoom{Preset: "private_chat", InitialState: []*event.Event{{
		Type:    event.StateEncryption,
		Content: event.Content{Parsed: &event.EncryptionEventContent{Algorithm: id.AlgorithmMegolmV1}},
	}}}
	resp, err := p.cli.CreateRoom(ctx, req)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, other := range others {
		p.bring(resp.RoomID.String(), other)
	}
	p.until("the room", func() bool { return p.sees(resp.RoomID.String()) })
	return resp.RoomID.String()
}

// bring invites another one, who joins.
func (p *peer) bring(room string, other *peer) {
	p.t.Helper()
	ctx := p.t.Context()
	if _, err := p.cli.InviteUser(ctx, id.RoomID(room), &mautrix.ReqInviteUser{UserID: other.cli.UserID}); err != nil {
		p.t.Fatal(err)
	}
	if _, err := other.cli.JoinRoomByID(ctx, id.RoomID(room)); err != nil {
		p.t.Fatal(err)
	}
	other.until("the room", func() bool { return other.sees(room) })
	joined := `"state_key":"` + other.cli.UserID.String() + `"`
	p.until("the one who joins", func() bool {
		for _, s := range p.seen {
			if s.Room == room && strings.Contains(string(s.Raw), joined) && strings.Contains(string(s.Raw), `"membership":"join"`) {
				return true
			}
		}
		return false
	})
}

func (p *peer) sees(room string) bool {
	for _, s := range p.seen {
		if s.Room == room {
			return true
		}
	}
	return false
}

func text(body string) json.RawMessage {
	data, _ := json.Marshal(map[string]any{"msgtype": "m.text", "body": body, "m.mentions": map[string]any{}})
	return data
}

// say encrypts and sends a text; it returns the event ID.
func (p *peer) say(room, body string) string {
	p.t.Helper()
	return p.send(room, "m.room.message", text(body))
}

func (p *peer) send(room, kind string, content json.RawMessage) string {
	p.t.Helper()
	kind, content, err := p.m.Encrypt(p.t.Context(), room, kind, content)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.put(room, kind, content)
}

// put sends an event as it is.
func (p *peer) put(room, kind string, content json.RawMessage) string {
	p.t.Helper()
	resp, err := p.cli.SendMessageEvent(p.t.Context(), id.RoomID(room), event.NewEventType(kind), content)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.EventID.String()
}

// event waits for an event as it comes over the wire.
func (p *peer) event(room, id string) json.RawMessage {
	p.t.Helper()
	var found json.RawMessage
	p.until("event "+id, func() bool {
		for _, s := range p.seen {
			var e struct {
				ID string `json:"event_id"`
			}
			if s.Room == room && json.Unmarshal(s.Raw, &e) == nil && e.ID == id {
				found = s.Raw
				return true
			}
		}
		return false
	})
	return found
}

// reads waits for an event, decrypts it and returns its body.
func (p *peer) reads(room, id string) string {
	p.t.Helper()
	plain, err := p.m.Decrypt(p.t.Context(), room, p.event(room, id))
	if err != nil {
		p.t.Fatalf("%s reads: %v", p.cli.UserID, err)
	}
	return body(p.t, plain)
}

func body(t *testing.T, plain json.RawMessage) string {
	t.Helper()
	var e struct {
		Type    string `json:"type"`
		Mark    bool   `json:"io.matrix-tui.encrypted"`
		Content struct {
			Body string `json:"body"`
		} `json:"content"`
	}
	if err := json.Unmarshal(plain, &e); err != nil {
		t.Fatal(err)
	}
	if e.Type != "m.room.message" || !e.Mark {
		t.Errorf("not a decrypted message: %s", plain)
	}
	return e.Content.Body
}
