// Package matrix is one Matrix account on the wire: login, /sync, sending,
// media, membership and profile. It is the only product package that talks to
// the homeserver.
//
// What comes in is decoded by [matrix-tui/bot/matrix/decode] and decrypted by
// [matrix-tui/bot/matrix/e2ee]. The package decides nothing about rooms or
// people, keeps no queue and repeats nothing but the login: an [Account] method
// is one request, and whoever calls it decides what an error means, with
// [Transient] and its neighbours.
package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	mautrixevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/event/cmdschema"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/event"
)

// Config says whose account it is.
type Config struct {
	Homeserver  string // base URL of the client-server API
	User        string // full ID or localpart
	Password    string // used once; afterwards the stored token and device are
	AccessToken string // instead of a password
	StateDir    string // for account.json and the keys
	Version     string // for the user agent
	AllDevices  bool   // see e2ee.Config
	Owner       func(user string) bool
	KeyCame     func(e2ee.Key) // see e2ee.Config
	Rejected    func()         // counts events that are left out; nil is nothing
	Log         zerolog.Logger
}

// Account is the account. All methods may be called at the same time, but for
// Login and Try.
type Account struct {
	cfg    Config
	client *mautrix.Client
	log    zerolog.Logger

	mu      sync.Mutex
	cutSync context.CancelCauseFunc // ends the /sync that is held open

	cryptMu sync.RWMutex // held by whoever uses the machine
	machine *e2ee.Machine
}

// New prepares an account; nothing is contacted before Login.
func New(cfg Config) (*Account, error) {
	client, err := mautrix.NewClient(cfg.Homeserver, "", "")
	if err != nil {
		return nil, fmt.Errorf("read homeserver address %q: %w", cfg.Homeserver, err)
	}
	client.Log = zerolog.Nop() // it logs what is in a request that failed; its errors are told where they matter
	if strings.HasPrefix(cfg.User, "@") {
		client.UserID = id.UserID(cfg.User)
	}
	client.UserAgent = "matrix-tui/" + cfg.Version
	client.DefaultHTTPRetries = 0 // waits are ours: they end with the context and count syncs
	return &Account{cfg: cfg, client: client, log: cfg.Log}, nil
}

// UserID is the account's full ID; before the login it is "" unless Config.User
// is one.
func (a *Account) UserID() string { return a.client.UserID.String() }

// Localpart is the account's name on its server.
func (a *Account) Localpart() string { return a.client.UserID.Localpart() }

// get asks for a path below /_matrix/client.
func (a *Account) get(ctx context.Context, into any, path ...any) error {
	_, err := a.client.MakeRequest(ctx, http.MethodGet, a.client.BuildClientURL(path...), nil, into)
	return err
}

// State is the content of a room's state event with an empty key.
func (a *Account) State(ctx context.Context, room, eventType string) (content json.RawMessage, err error) {
	err = a.get(ctx, &content, "v3", "rooms", room, "state", eventType, "")
	return content, err
}

// Event is an event of a room. One that is malformed, or of another room (some
// homeservers give those, too), is [decode.ErrMalformed].
func (a *Account) Event(ctx context.Context, room, eventID string) (event.Event, error) {
	var raw json.RawMessage
	if err := a.get(ctx, &raw, "v3", "rooms", room, "event", eventID); err != nil {
		return event.Event{}, err
	}
	e, err := decode.FromServer(raw)
	if err == nil && (e.ID != eventID || e.Room != room) {
		err = fmt.Errorf("%w: another one than asked for", decode.ErrMalformed)
	}
	if err != nil {
		a.reject(room)(err)
		return event.Event{}, err
	}
	return e, nil
}

// Join joins a room, and Leave leaves it or declines an invitation to it.
func (a *Account) Join(ctx context.Context, room string) error {
	_, err := a.client.JoinRoomByID(ctx, id.RoomID(room))
	return err
}

// Leave is described at Join.
func (a *Account) Leave(ctx context.Context, room string) error {
	_, err := a.client.LeaveRoom(ctx, id.RoomID(room))
	return err
}

// IsIn asks whether the account has joined a room.
func (a *Account) IsIn(ctx context.Context, room string) (bool, error) {
	joined, err := a.client.JoinedRooms(ctx)
	if err != nil {
		return false, err
	}
	for _, one := range joined.JoinedRooms {
		if one.String() == room {
			return true, nil
		}
	}
	return false, nil
}

// Members are the users who have joined a room.
func (a *Account) Members(ctx context.Context, room string) ([]string, error) {
	joined, err := a.client.JoinedMembers(ctx, id.RoomID(room))
	if err != nil {
		return nil, err
	}
	users := make([]string, 0, len(joined.Joined))
	for user := range joined.Joined {
		users = append(users, user.String())
	}
	return users, nil
}

// AccountData is the content of an event of the account's data.
func (a *Account) AccountData(ctx context.Context, eventType string) (content json.RawMessage, err error) {
	err = a.client.GetAccountData(ctx, eventType, &content)
	return content, err
}

// SetAccountData replaces an event of the account's data.
func (a *Account) SetAccountData(ctx context.Context, eventType string, content any) error {
	return a.client.SetAccountData(ctx, eventType, content)
}

// profile is the account's display name, and whether it has a picture. An
// account without a profile has neither.
func (a *Account) profile(ctx context.Context) (name string, picture bool, err error) {
	profile, err := a.client.GetProfile(ctx, a.client.UserID)
	if err != nil && !IsNotFound(err) {
		return "", false, err
	}
	if err != nil {
		return "", false, nil
	}
	return profile.DisplayName, !profile.AvatarURL.IsEmpty(), nil
}

// setName sets the account's display name.
func (a *Account) setName(ctx context.Context, name string) error {
	return a.client.SetDisplayName(ctx, name)
}

// setPicture uploads a picture and makes it the account's.
func (a *Account) setPicture(ctx context.Context, data []byte, contentType string) error {
	uploaded, err := a.client.UploadBytes(ctx, data, contentType)
	if err != nil {
		return fmt.Errorf("upload picture: %w", err)
	}
	return a.client.SetAvatarURL(ctx, uploaded.ContentURI)
}

// Command describes a command to clients that can offer it (MSC4391). Text names
// what may follow it, "" for nothing.
type Command struct{ Name, Does, Text string }

// Validate tells what is wrong with a description; nil for nothing.
func (c Command) Validate() error { return c.content().Validate() }

func (c Command) content() *cmdschema.EventContent {
	content := &cmdschema.EventContent{Command: c.Name, Description: mautrixevent.MakeExtensibleText(c.Does)}
	if c.Text != "" {
		content.TailParam = "text"
		content.Parameters = []*cmdschema.Parameter{{
			Key:         "text",
			Schema:      cmdschema.PrimitiveTypeString.Schema(),
			Description: mautrixevent.MakeExtensibleText(c.Text),
		}}
	}
	return content
}

// Describe publishes a command in a room.
func (a *Account) Describe(ctx context.Context, room string, c Command) error {
	content := c.content()
	_, err := a.client.SendStateEvent(ctx, id.RoomID(room), mautrixevent.StateMSC4391BotCommand, content.StateKey(a.client.UserID), content)
	return err
}

// Upload gives the homeserver a file and returns its mxc URI. The name may be "".
func (a *Account) Upload(ctx context.Context, data io.ReadSeeker, size int64, contentType, name string) (string, error) {
	resp, err := a.client.UploadMedia(ctx, mautrix.ReqUploadMedia{
		Content: keepOpen{data}, ContentLength: size, ContentType: contentType, FileName: name,
	})
	if err != nil {
		return "", err
	}
	return resp.ContentURI.String(), nil
}

// keepOpen keeps a file open when an HTTP request is done with it.
type keepOpen struct{ io.ReadSeeker }

func (keepOpen) Close() error { return nil }

// Download opens what the homeserver has at an mxc URI.
func (a *Account) Download(ctx context.Context, uri string) (io.ReadCloser, error) {
	mxc, err := id.ParseContentURI(uri)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Download(ctx, mxc)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
