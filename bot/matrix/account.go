// Package matrix connects one account to its homeserver: login, /sync, sending,
// media, membership and profile. It is the only product package that talks to
// the homeserver.
//
// Incoming events are decoded by [matrix-tui/bot/matrix/decode] and decrypted by
// [matrix-tui/bot/matrix/e2ee]. The package decides nothing about rooms or people,
// has no queue and retries nothing except the login. A method of [Account] makes
// one request, or a few that belong together; its caller decides what an error
// means, with [Transient] and the functions beside it.
package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	mautrixevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/event/cmdschema"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/crash"
	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/event"
)

// Config holds the settings of an account.
type Config struct {
	Homeserver  string    // base URL of the client-server API
	User        string    // full ID or localpart
	Password    string    // used for the first login; afterwards the stored token is used
	AccessToken string    // instead of a password
	StateDir    string    // directory of account.json and the keys
	Version     string    // for the user agent
	Devices     e2ee.Rule // see e2ee.Config
	Owner       func(user string) bool
	KeyArrived  func(e2ee.Key) // see e2ee.Config
	Damaged     func(error)    // see e2ee.Config
	Replaced    func(string)   // see e2ee.Config
	Rejected    func()         // called for each rejected event; may be nil
	Log         zerolog.Logger
}

// Account is one Matrix account, in parts. All methods except Login and Try are safe for concurrent use.
type Account struct {
	*core
	Rooms    Rooms
	Messages Messages
	Keys     Keys
	Profile  Profile
}

// The parts of an [Account].
type (
	Rooms    struct{ *core } // Rooms are membership, state and account data of rooms.
	Messages struct{ *core } // Messages are events in rooms' timelines, and files.
	Keys     struct{ *core } // Keys are what encryption needs: see [e2ee.Machine].
	Profile  struct{ *core } // Profile is the account's name and picture.
)

// core is what the parts share.
type core struct {
	cfg    Config
	client *mautrix.Client
	log    zerolog.Logger
	stored storedLogin
	bearer bearer
	clock  clock
	waits  waiting

	mu      sync.Mutex
	cutSync context.CancelCauseFunc // cancels the current /sync request

	// cryptMu is held for reading while the machine is used; the session and the machine change under it: see lockCrypt.
	cryptMu sync.RWMutex
	opened  bool // the encryption was opened, or is being opened; guarded by cryptMu
	machine *e2ee.Machine

	ended    atomic.Bool // see Ended
	keysLost bool        // the token's session has lost its keys, and there is no password for a new one
}

// New returns an account that has contacted nothing yet: see Login.
func New(cfg Config) (*Account, error) {
	client, err := mautrix.NewClient(cfg.Homeserver, "", "")
	if err != nil {
		return nil, fmt.Errorf("read homeserver address %q: %w", cfg.Homeserver, err)
	}
	client.Log = zerolog.Nop() // it would log the content of failed requests
	if strings.HasPrefix(cfg.User, "@") {
		client.UserID = id.UserID(cfg.User)
	}
	client.UserAgent = "matrix-tui/" + cfg.Version
	client.DefaultHTTPRetries = 0 // our callers retry, with their own context and backoff
	a := &core{cfg: cfg, client: client, log: cfg.Log}
	a.clock.next = &complete{crash.Requests("matrix", cmp.Or(client.Client.Transport, http.DefaultTransport))}
	a.stored.dir, a.stored.homeserver, a.stored.user, a.stored.log = cfg.StateDir, cfg.Homeserver, cfg.User, cfg.Log
	a.bearer.home, a.bearer.next, a.bearer.stored = client.HomeserverURL, &a.clock, &a.stored
	client.Client.Transport = &a.bearer
	return &Account{a, Rooms{a}, Messages{a}, Keys{a}, Profile{a}}, nil
}

// UserID returns the account's full ID. Before the login it is "" unless
// Config.User is a full ID.
func (a *core) UserID() string { return a.client.UserID.String() }

// Localpart returns the local part of the account's ID.
func (a *core) Localpart() string { return a.client.UserID.Localpart() }

// get requests a path below /_matrix/client.
func (a *core) get(ctx context.Context, into any, path ...any) error {
	_, err := a.client.MakeRequest(ctx, http.MethodGet, a.client.BuildClientURL(path...), nil, into)
	return err
}

// state returns the content of a room's state event with an empty state key.
func (a *core) state(ctx context.Context, room, eventType string) (content json.RawMessage, err error) {
	err = a.get(ctx, &content, "v3", "rooms", room, "state", eventType, "")
	return content, err
}

// Get fetches an event of a room. It returns [decode.ErrMalformed] if the event is
// malformed or belongs to another room, which some homeservers permit.
func (a Messages) Get(ctx context.Context, room, eventID string) (event.Event, error) {
	var raw json.RawMessage
	if err := a.get(ctx, &raw, "v3", "rooms", room, "event", eventID); err != nil {
		return event.Event{}, err
	}
	e, err := decode.FromServer(raw)
	if err == nil && (e.ID != eventID || e.Room != room) {
		err = fmt.Errorf("%w: not the requested event", decode.ErrMalformed)
	}
	if err != nil {
		a.reject(room)(err)
		return event.Event{}, err
	}
	return e, nil
}

// Join joins a room.
func (a Rooms) Join(ctx context.Context, room string) error {
	_, err := a.client.JoinRoomByID(ctx, id.RoomID(room))
	return err
}

// Leave leaves a room or declines an invitation to it.
func (a Rooms) Leave(ctx context.Context, room string) error {
	_, err := a.client.LeaveRoom(ctx, id.RoomID(room))
	return err
}

// Joined returns the rooms that the account has joined.
func (a Rooms) Joined(ctx context.Context) ([]string, error) {
	joined, err := a.client.JoinedRooms(ctx)
	if err != nil {
		return nil, err
	}
	rooms := make([]string, 0, len(joined.JoinedRooms))
	for _, room := range joined.JoinedRooms {
		rooms = append(rooms, room.String())
	}
	return rooms, nil
}

// IsIn asks the homeserver whether the account has joined a room.
func (a Rooms) IsIn(ctx context.Context, room string) (bool, error) {
	rooms, err := a.Joined(ctx)
	return slices.Contains(rooms, room), err
}

// MaySend reports whether the account is in a room, and may send messages of a type
// there by its power level.
func (a Rooms) MaySend(ctx context.Context, room, eventType string) (bool, error) {
	in, err := a.IsIn(ctx, room)
	if err != nil || !in {
		return false, err
	}
	content, err := a.state(ctx, room, "m.room.power_levels")
	if IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	may, err := decode.MaySend(content, a.UserID(), eventType)
	if err != nil || may {
		return may, err
	}
	return a.isCreator(ctx, room)
}

// isCreator reports whether the account is a creator of a room and may do everything there.
func (a Rooms) isCreator(ctx context.Context, room string) (bool, error) {
	var raw json.RawMessage
	url := a.client.BuildURLWithQuery(mautrix.ClientURLPath{"v3", "rooms", room, "state", event.TypeCreate, ""},
		map[string]string{"format": "event"})
	if _, err := a.client.MakeRequest(ctx, http.MethodGet, url, nil, &raw); IsNotFound(err) || IsForbidden(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read the room's creators: %w", err)
	}
	create, err := decode.FromServer(raw)
	if err != nil { // the homeserver returns the content only
		create, err = decode.State(event.TypeCreate, raw)
	}
	return err == nil && decode.IsCreator(create, a.UserID()), nil
}

// Direct returns the direct chats in the account data, by user.
func (a Rooms) Direct(ctx context.Context) (map[string][]string, error) {
	var content json.RawMessage
	if err := a.client.GetAccountData(ctx, event.TypeDirect, &content); err != nil {
		return nil, err
	}
	return decode.Direct(content)
}

// SetDirect replaces the direct chats in the account data.
func (a Rooms) SetDirect(ctx context.Context, users map[string][]string) error {
	return a.client.SetAccountData(ctx, event.TypeDirect, users)
}

// Predecessor returns the room that a room replaces, or ""; a malformed event names none. Any refusal is an error, for
// each room has that event: it says nothing about the room.
func (a Rooms) Predecessor(ctx context.Context, room string) (string, error) {
	raw, err := a.state(ctx, room, event.TypeCreate)
	if err != nil {
		return "", fmt.Errorf("read predecessor: %w", err)
	}
	created, err := decode.State(event.TypeCreate, raw)
	if err != nil {
		a.reject(room)(err)
	}
	return created.Body.Predecessor, nil
}

// Command describes a command to clients that can offer it (MSC4391). Text describes
// its argument; "" means none.
type Command struct{ Name, Does, Text string }

// Validate returns an error if the description is not valid.
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

// Describe publishes a command in a room's state.
func (a Rooms) Describe(ctx context.Context, room string, c Command) error {
	content := c.content()
	_, err := a.client.SendStateEvent(ctx, id.RoomID(room), mautrixevent.StateMSC4391BotCommand,
		content.StateKey(a.client.UserID), content)
	return err
}
