// Package person is a Matrix client for one person: it logs in, creates rooms, writes in them and reads what others
// write. The chat of ./deploy/try and the conversation scripts use it to talk to the bot, as somebody would with
// Element.
//
// It uses mautrix's own helpers for encrypted rooms and shares no code with the bot, because two ends that share code
// share bugs. It stores nothing on disk and never decides anything for the bot.
package person

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// Config says who logs in where.
type Config struct {
	Homeserver string         // base URL, http://127.0.0.1:8008
	Name       string         // localpart of the user ID
	Password   string         // for registration and login
	Device     string         // display name of the session; "" = "matrix-tui"
	Keys       Keys           // whether it reads and writes encrypted rooms
	Recovery   string         // recovery key of the identity that signs the device; "" = a new identity
	Log        zerolog.Logger // debug lines of the HTTP client; the zero value logs nothing
}

// Keys is how a session looks to others who encrypt for it.
type Keys int

const (
	NoKeys       Keys = iota // it cannot encrypt
	UnsignedKeys             // a device that its account has not signed
	SignedKeys               // a device signed by the cross-signing identity of the account
)

// Person is one logged-in session. Its methods are safe for concurrent use.
type Person struct {
	cli *mautrix.Client
	log zerolog.Logger

	crypt    *crypt // nil: it cannot encrypt
	recovery string // recovery key of its identity
	holding  holding

	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change of the fields below
	rooms   map[string]*timeline
	redone  int               // how often an event could be decrypted later
	invites map[string]string // room → inviter
	synced  bool
}

// Enter registers the account, or logs in if it exists, and starts to sync. It returns after the first sync. Close ends
// it.
func Enter(ctx context.Context, cfg Config) (*Person, error) {
	cli, err := mautrix.NewClient(cfg.Homeserver, "", "")
	if err != nil {
		return nil, fmt.Errorf("use homeserver %s: %w", cfg.Homeserver, err)
	}
	cli.Log = cfg.Log
	cli.DefaultHTTPRetries = 6
	cli.DefaultHTTPBackoff = 250 * time.Millisecond
	if err := enter(ctx, cli, cfg); err != nil {
		return nil, err
	}
	loop, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &Person{
		cli: cli, log: cfg.Log,
		stop: stop, done: make(chan struct{}),
		changed: make(chan struct{}),
		rooms:   map[string]*timeline{},
		invites: map[string]string{},
	}
	if err := p.openKeys(ctx, cfg); err != nil {
		stop()
		return nil, fmt.Errorf("open keys of %s: %w", cfg.Name, err)
	}
	go func() {
		defer close(p.done)
		p.watch(loop)
	}()
	if err := p.until(ctx, func() bool { return p.synced }); err != nil {
		p.Close()
		return nil, fmt.Errorf("first sync of %s: %w", cfg.Name, err)
	}
	return p, nil
}

// enter registers, or logs in if the name is taken.
func enter(ctx context.Context, cli *mautrix.Client, cfg Config) error {
	device := cfg.Device
	if device == "" {
		device = "matrix-tui"
	}
	resp, err := cli.RegisterDummy(ctx, &mautrix.ReqRegister[any]{
		Username: cfg.Name, Password: cfg.Password, InitialDeviceDisplayName: device,
	})
	if err == nil {
		cli.UserID, cli.DeviceID, cli.AccessToken = resp.UserID, resp.DeviceID, resp.AccessToken
		return nil
	}
	if !errors.Is(err, mautrix.MUserInUse) && !errors.Is(err, mautrix.MForbidden) {
		return fmt.Errorf("register %s: %w", cfg.Name, err)
	}
	_, err = cli.Login(ctx, &mautrix.ReqLogin{
		Type:                     mautrix.AuthTypePassword,
		Identifier:               mautrix.UserIdentifier{Type: mautrix.IdentifierTypeUser, User: cfg.Name},
		Password:                 cfg.Password,
		InitialDeviceDisplayName: device,
		StoreCredentials:         true,
	})
	if err != nil {
		return fmt.Errorf("log in as %s: %w", cfg.Name, err)
	}
	return nil
}

// ID is the user ID, @alice:example.org.
func (p *Person) ID() string { return p.cli.UserID.String() }

// Recovery is the recovery key of the identity that signed the session, "" if none did.
func (p *Person) Recovery() string { return p.recovery }

// Close stops syncing and waits for it. The session stays valid on the server.
func (p *Person) Close() {
	p.stop()
	<-p.done
}

// until waits for a condition of the synced state; p.mu is held while ok runs.
func (p *Person) until(ctx context.Context, ok func() bool) error {
	for {
		p.mu.Lock()
		hit, changed := ok(), p.changed
		p.mu.Unlock()
		if hit {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// tell wakes all waiters; p.mu is held.
func (p *Person) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// RoomSpec describes a room to create.
type RoomSpec struct {
	Name      string
	Invite    []string // user IDs
	Encrypted bool     // m.megolm.v1.aes-sha2
	Replaces  string   // ID of its predecessor, or ""
}

// CreateRoom creates a private room and returns its ID. One with a single other person is a direct chat, as clients
// create it.
func (p *Person) CreateRoom(ctx context.Context, spec RoomSpec) (string, error) {
	req := &mautrix.ReqCreateRoom{Name: spec.Name, Preset: "private_chat", IsDirect: len(spec.Invite) == 1}
	for _, user := range spec.Invite {
		req.Invite = append(req.Invite, id.UserID(user))
	}
	if spec.Encrypted {
		req.InitialState = append(req.InitialState, &event.Event{
			Type:    event.StateEncryption,
			Content: event.Content{Parsed: &event.EncryptionEventContent{Algorithm: id.AlgorithmMegolmV1}},
		})
	}
	if spec.Replaces != "" {
		req.CreationContent = map[string]any{"predecessor": map[string]string{"room_id": spec.Replaces, "event_id": "$last"}}
	}
	resp, err := p.cli.CreateRoom(ctx, req)
	if err != nil {
		return "", fmt.Errorf("create room %q: %w", spec.Name, err)
	}
	return resp.RoomID.String(), nil
}

// Invite invites a user to the room.
func (p *Person) Invite(ctx context.Context, room, user string) error {
	if _, err := p.cli.InviteUser(ctx, id.RoomID(room), &mautrix.ReqInviteUser{UserID: id.UserID(user)}); err != nil {
		return fmt.Errorf("invite %s to %s: %w", user, room, err)
	}
	return nil
}

// Join enters a room (ID or alias).
func (p *Person) Join(ctx context.Context, room string) error {
	if _, err := p.cli.JoinRoom(ctx, room, nil); err != nil {
		return fmt.Errorf("join %s: %w", room, err)
	}
	return nil
}

// Leave leaves the room.
func (p *Person) Leave(ctx context.Context, room string) error {
	if _, err := p.cli.LeaveRoom(ctx, id.RoomID(room)); err != nil {
		return fmt.Errorf("leave %s: %w", room, err)
	}
	return nil
}

// Kick removes somebody from the room.
func (p *Person) Kick(ctx context.Context, room, user string) error {
	if _, err := p.cli.KickUser(ctx, id.RoomID(room), &mautrix.ReqKickUser{UserID: id.UserID(user)}); err != nil {
		return fmt.Errorf("kick %s from %s: %w", user, room, err)
	}
	return nil
}

// Members returns the user IDs that are joined to the room, as the server knows them now.
func (p *Person) Members(ctx context.Context, room string) ([]string, error) {
	resp, err := p.cli.JoinedMembers(ctx, id.RoomID(room))
	if err != nil {
		return nil, fmt.Errorf("members of %s: %w", room, err)
	}
	users := make([]string, 0, len(resp.Joined))
	for user := range resp.Joined {
		users = append(users, user.String())
	}
	return users, nil
}

// Upgrade replaces the room by a successor of the given version ("10"), leaving an m.room.tombstone, and returns the
// successor's ID.
func (p *Person) Upgrade(ctx context.Context, room, version string) (string, error) {
	var resp struct {
		Room string `json:"replacement_room"`
	}
	url := p.cli.BuildClientURL("v3", "rooms", room, "upgrade")
	if _, err := p.cli.MakeRequest(ctx, "POST", url, map[string]string{"new_version": version}, &resp); err != nil {
		return "", fmt.Errorf("upgrade room %s: %w", room, err)
	}
	return resp.Room, nil
}

// Token logs in with another session, which stays, and returns its access token.
func Token(ctx context.Context, cfg Config) (string, error) {
	cli, err := logIn(ctx, cfg)
	if err != nil {
		return "", err
	}
	return cli.AccessToken, nil
}

// Register creates the account without a session and returns its user ID. An existing account is no error if the
// password matches.
func Register(ctx context.Context, cfg Config) (string, error) {
	cli, err := logIn(ctx, cfg)
	if err != nil {
		return "", err
	}
	if _, err := cli.Logout(ctx); err != nil {
		return "", fmt.Errorf("log out %s: %w", cfg.Name, err)
	}
	return cli.UserID.String(), nil
}

func logIn(ctx context.Context, cfg Config) (*mautrix.Client, error) {
	cli, err := mautrix.NewClient(cfg.Homeserver, "", "")
	if err != nil {
		return nil, fmt.Errorf("use homeserver %s: %w", cfg.Homeserver, err)
	}
	cli.Log = cfg.Log
	return cli, enter(ctx, cli, cfg)
}
