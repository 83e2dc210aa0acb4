package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"time"

	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/event"
)

// The filters request only what we read. The first sync loads members lazily. Later
// syncs do not: they contain only members who changed anyway, and lazy loading makes
// them several times slower on a Dendrite with hundreds of rooms. A first sync has no
// redundant members, but without them, Dendrite 0.15.2 adds a type to the filter with
// each room: the time that it needs grows with the square of their number.
const (
	firstFilter = `{` + filterHead + `"state":{` + filterState + `,` + filterLazy + `},"timeline":{"limit":50,` +
		filterLazy + `}}}`
	laterFilter = `{` + filterHead + `"state":{` + filterState + `},"timeline":{"limit":50}}}`
	filterLazy  = `"lazy_load_members":true,"include_redundant_members":true`
	filterHead  = `"account_data":{"types":["m.direct"]},"presence":{"types":[]},"room":{"account_data":{"types":[]},"ephemeral":{"types":["m.typing","m.receipt"]},`
	filterState = `"types":["m.room.member","m.room.tombstone","m.room.name","m.room.encryption","m.room.history_visibility"]`
)

// ErrInterrupted means that [Account.SyncNow] ended a sync.
var ErrInterrupted = errors.New("sync interrupted")

// Sync is the part of a /sync response that we use, without malformed events
// (https://spec.matrix.org/v1.11/client-server-api/#get_matrixclientv3sync).
type Sync struct {
	Since, Next string              // sync tokens; Since is "" for the first sync
	Direct      map[string][]string // the direct chats by user; nil if they did not change
	Joined      map[string]Room
	Invited     map[string]event.Event // by room: the membership event of the invitation
	Left        []string
	Took        time.Duration // from the request to the first byte of the response
	keys        e2ee.Sync
}

// Room holds the new events of a joined room.
type Room struct {
	State, Timeline []event.Event
	Typing          []string // who is typing; nil if that has not changed
	Present         []string // who has just begun to type or has read something, perhaps the bot itself
	Limited         bool     // there is a gap before the events in Timeline
	PrevBatch       string   // token for requesting the missing events
}

// syncAnswer is the response as it is on the wire. Events stay raw, so that a
// malformed one does not invalidate the batch.
type syncAnswer struct {
	NextBatch string `json:"next_batch"`
	e2ee.Sync
	AccountData rawEvents `json:"account_data"`
	Rooms       struct {
		Join map[string]struct {
			State     rawEvents `json:"state"`
			Ephemeral rawEvents `json:"ephemeral"`
			Timeline  struct {
				rawEvents
				Limited   bool   `json:"limited"`
				PrevBatch string `json:"prev_batch"`
			} `json:"timeline"`
		} `json:"join"`
		Invite map[string]struct {
			State rawEvents `json:"invite_state"`
		} `json:"invite"`
		Leave map[string]json.RawMessage `json:"leave"`
	} `json:"rooms"`
}

type rawEvents struct {
	Events []json.RawMessage `json:"events"`
}

// Sync makes one /sync request. hold is how long the homeserver may keep the request
// open while there is nothing new. The response may take as long as it needs, up to
// maxAnswer, while bytes arrive.
func (a *Account) Sync(ctx context.Context, since string, hold time.Duration) (batch *Sync, err error) {
	end := a.waits.begin()
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, hold+maxAnswer)
	defer cancel()
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	a.setCut(cut)
	defer a.setCut(nil)
	query := map[string]string{"timeout": strconv.FormatInt(hold.Milliseconds(), 10), "filter": firstFilter}
	if since != "" {
		query["since"], query["filter"] = since, laterFilter
	}
	var answer syncAnswer
	begun, took := time.Now(), time.Duration(0)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { took = time.Since(begun) }})
	_, err = a.client.MakeFullRequest(ctx, mautrix.FullRequest{
		Method:       http.MethodGet,
		URL:          a.client.BuildURLWithQuery(mautrix.ClientURLPath{"v3", "sync"}, query),
		ResponseJSON: &answer,
		MaxAttempts:  1,
		Client:       &http.Client{Transport: &patient{a.client.Client.Transport, a.waits.silence(since == "", hold), cut}},
	})
	a.waits.answered(!errors.Is(context.Cause(ctx), errSilent))
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		return nil, ErrInterrupted
	}
	if err != nil {
		return nil, fmt.Errorf("sync: %w", err)
	}
	if answer.NextBatch == "" {
		return nil, errors.New("sync: no next_batch in the response")
	}
	batch = a.decode(since, &answer)
	batch.Took = took
	return batch, nil
}

// decode decodes a response.
func (a *Account) decode(since string, s *syncAnswer) *Sync {
	batch := &Sync{Since: since, Next: s.NextBatch, keys: s.Sync, Joined: map[string]Room{},
		Invited: map[string]event.Event{}}
	for _, raw := range s.AccountData.Events {
		if users, ok := decode.DirectEvent(raw); ok {
			batch.Direct = users
		}
	}
	for name, r := range s.Rooms.Join {
		present, typing := decode.Present(r.Ephemeral.Events)
		batch.Joined[name] = Room{
			State:    decode.Timeline(name, r.State.Events, a.reject(name)),
			Timeline: decode.Timeline(name, r.Timeline.Events, a.reject(name)),
			Limited:  r.Timeline.Limited, PrevBatch: r.Timeline.PrevBatch, Present: present, Typing: typing,
		}
	}
	for name, r := range s.Rooms.Invite {
		if e, err := invitation(r.State.Events, a.UserID()); err == nil {
			batch.Invited[name] = e
		} else {
			a.reject(name)(err)
		}
	}
	for name := range s.Rooms.Leave {
		batch.Left = append(batch.Left, name)
	}
	return batch
}

// invitation returns the membership event that invites user. The inviter's server
// chooses the state that comes with an invitation and may forge memberships in it.
// Our homeserver appends the real membership event, so only the last event counts.
func invitation(stripped []json.RawMessage, user string) (event.Event, error) {
	if len(stripped) == 0 {
		return event.Event{}, fmt.Errorf("%w: invitation without events", decode.ErrMalformed)
	}
	e, err := decode.FromServer(stripped[len(stripped)-1])
	if err != nil {
		return event.Event{}, err
	}
	if whose, m, ok := e.Member(); !ok || whose != user || m.Membership != "invite" {
		return event.Event{}, fmt.Errorf("%w: the last event of an invitation does not invite us", decode.ErrMalformed)
	}
	return e, nil
}

// reject returns a function that counts and logs a rejected event of a room.
func (a *core) reject(room string) func(error) {
	return func(err error) {
		if a.cfg.Rejected != nil {
			a.cfg.Rejected()
		}
		a.log.Warn().Err(err).Str("room", room).Msg("event rejected")
	}
}

// SyncNow ends the /sync request that is waiting for events, so that the next one
// starts now.
func (a *Account) SyncNow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cutSync != nil {
		a.cutSync(ErrInterrupted)
	}
}

func (a *Account) setCut(cut context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cutSync = cut
}

// Page returns at most limit events of a room before a token, newest first, and
// the token of the page before. chunk leaves out malformed ones.
func (a Messages) Page(ctx context.Context, room, from string, limit int) (chunk []event.Event, end string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var answer struct {
		Chunk []json.RawMessage `json:"chunk"`
		End   string            `json:"end"`
	}
	_, err = a.client.MakeFullRequest(ctx, mautrix.FullRequest{
		Method: http.MethodGet,
		URL: a.client.BuildURLWithQuery(mautrix.ClientURLPath{"v3", "rooms", room, "messages"}, map[string]string{
			"from": from, "dir": "b", "limit": strconv.Itoa(limit),
		}),
		ResponseJSON: &answer,
		MaxAttempts:  1,
	})
	if err != nil {
		return nil, "", fmt.Errorf("read messages of %s: %w", room, err)
	}
	if answer.Chunk == nil {
		return nil, "", fmt.Errorf("read messages of %s: %w: it has no chunk", room, errIncomplete)
	}
	return decode.Timeline(room, answer.Chunk, a.reject(room)), answer.End, nil
}
