// Package person is a Matrix client for one person: it logs in, creates rooms,
// writes in them and reads what others write. The chat of ./deploy/try and the
// conversation scripts use it to talk to the bot, as somebody would with Element.
//
// It reads and writes encrypted rooms by mautrix's own helpers: it shares no code
// with the bot, because two ends that do share bugs. It stores nothing on disk
// and never decides anything for the bot.
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
	Password   string         // used for the registration as well as for the login
	Device     string         // display name of the session; "" = "matrix-tui"
	Keys       Keys           // whether it reads and writes encrypted rooms
	Log        zerolog.Logger // debug lines of the HTTP client; the zero value logs nothing
}

// Keys says what a session is to those who encrypt for it.
type Keys int

const (
	NoKeys       Keys = iota // it cannot encrypt
	UnsignedKeys             // a device that its account has not signed
	SignedKeys               // a device signed by a new cross-signing identity of the account
)

// Person is one logged-in session. All methods may be called at the same time.
type Person struct {
	cli *mautrix.Client
	log zerolog.Logger

	crypt   *crypt // nil: it cannot encrypt
	holding holding

	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change of what follows
	rooms   map[string]*timeline
	redone  int               // how often something seen could be read later
	invites map[string]string // room → who invited
	synced  bool
}

// Enter registers the account, or logs in when it is there already, and starts
// to watch its rooms. It returns after the first sync. Close ends it.
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

// enter registers; a name that is taken is logged in to.
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

// Close ends the watching and waits for it. The session stays valid on the server.
func (p *Person) Close() {
	p.stop()
	<-p.done
}

// until waits for a condition of the watched state; p.mu is held while ok runs.
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

// tell wakes everybody who waits; p.mu is held.
func (p *Person) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// RoomSpec describes a room to be made.
type RoomSpec struct {
	Name      string
	Invite    []string // user IDs
	Encrypted bool     // m.megolm.v1.aes-sha2
}

// CreateRoom makes a private room and returns its ID. One with a single other
// person is a direct chat, as clients make them.
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
	resp, err := p.cli.CreateRoom(ctx, req)
	if err != nil {
		return "", fmt.Errorf("create room %q: %w", spec.Name, err)
	}
	return resp.RoomID.String(), nil
}

// Invite asks a user into the room.
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

// Leave goes out of the room.
func (p *Person) Leave(ctx context.Context, room string) error {
	if _, err := p.cli.LeaveRoom(ctx, id.RoomID(room)); err != nil {
		return fmt.Errorf("leave %s: %w", room, err)
	}
	return nil
}

// Kick puts somebody else out of the room.
func (p *Person) Kick(ctx context.Context, room, user string) error {
	if _, err := p.cli.KickUser(ctx, id.RoomID(room), &mautrix.ReqKickUser{UserID: id.UserID(user)}); err != nil {
		return fmt.Errorf("kick %s from %s: %w", user, room, err)
	}
	return nil
}

// Members are the joined user IDs of the room, as the server knows them now.
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

// Upgrade replaces the room by a successor of the given version ("10"), leaving
// an m.room.tombstone behind, and returns the successor's ID.
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

// Token logs in as another session, which stays, and returns its access token.
func Token(ctx context.Context, cfg Config) (string, error) {
	cli, err := mautrix.NewClient(cfg.Homeserver, "", "")
	if err != nil {
		return "", fmt.Errorf("use homeserver %s: %w", cfg.Homeserver, err)
	}
	cli.Log = cfg.Log
	if err := enter(ctx, cli, cfg); err != nil {
		return "", err
	}
	return cli.AccessToken, nil
}

// Register makes the account without a session and returns its user ID. An
// account that is there already is no error when the password fits.
func Register(ctx context.Context, cfg Config) (string, error) {
	cli, err := mautrix.NewClient(cfg.Homeserver, "", "")
	if err != nil {
		return "", fmt.Errorf("use homeserver %s: %w", cfg.Homeserver, err)
	}
	cli.Log = cfg.Log
	if err := enter(ctx, cli, cfg); err != nil {
		return "", err
	}
	if _, err := cli.Logout(ctx); err != nil {
		return "", fmt.Errorf("log out %s: %w", cfg.Name, err)
	}
	return cli.UserID.String(), nil
}
