package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/event"
)

// The filters ask for what we read and nothing more; events stay raw, so that
// one malformed event cannot spoil a batch. The first sync does without members
// who say nothing; later ones name those who change, and to leave others out is
// several times the work for Dendrite where there are hundreds of rooms.
const (
	firstFilter = `{` + filterHead + `"state":{` + filterState + `,"lazy_load_members":true},"timeline":{"limit":50,"lazy_load_members":true}}}`
	laterFilter = `{` + filterHead + `"state":{` + filterState + `},"timeline":{"limit":50}}}`
	filterHead  = `"account_data":{"types":["m.direct"]},"presence":{"types":[]},"room":{"account_data":{"types":[]},"ephemeral":{"types":[]},`
	filterState = `"types":["m.room.member","m.room.tombstone","m.room.name","m.room.encryption","m.room.history_visibility"]`
)

// ErrHurried is a sync that [Account.Hurry] has ended.
var ErrHurried = errors.New("the sync was ended early")

// Sync is the part of a /sync answer that we read. Malformed events are left out
// (https://spec.matrix.org/v1.11/client-server-api/#get_matrixclientv3sync).
type Sync struct {
	Since, Next string // sync tokens; Since is "" the first time
	AccountData []event.Event
	Joined      map[string]Room
	Invited     map[string]event.Event // the membership event that invites
	Left        []string
	keys        e2ee.Sync
}

// Room is what is new in a joined room.
type Room struct {
	State, Timeline []event.Event
	Limited         bool   // events before those of Timeline are missing
	PrevBatch       string // where they can be asked for
}

// syncAnswer is the answer as it is on the wire.
type syncAnswer struct {
	NextBatch string `json:"next_batch"`
	e2ee.Sync
	AccountData rawEvents `json:"account_data"`
	Rooms       struct {
		Join map[string]struct {
			State    rawEvents `json:"state"`
			Timeline struct {
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

// Sync asks once. hold is how long the homeserver may wait for something to tell.
func (a *Account) Sync(ctx context.Context, since string, hold time.Duration) (*Sync, error) {
	ctx, cancel := context.WithTimeout(ctx, hold+time.Minute)
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
	_, err := a.client.MakeFullRequest(ctx, mautrix.FullRequest{
		Method:       http.MethodGet,
		URL:          a.client.BuildURLWithQuery(mautrix.ClientURLPath{"v3", "sync"}, query),
		ResponseJSON: &answer,
		MaxAttempts:  1,
	})
	if errors.Is(context.Cause(ctx), ErrHurried) {
		return nil, ErrHurried
	}
	if err != nil {
		return nil, fmt.Errorf("sync: %w", err)
	}
	if answer.NextBatch == "" {
		return nil, errors.New("sync: the answer has no next_batch")
	}
	return a.decode(since, &answer), nil
}

// decode makes a batch of an answer. Nothing above looks at its bytes again.
func (a *Account) decode(since string, s *syncAnswer) *Sync {
	batch := &Sync{Since: since, Next: s.NextBatch, keys: s.Sync, Joined: map[string]Room{}, Invited: map[string]event.Event{}}
	for _, raw := range s.AccountData.Events {
		if e, err := decode.AccountData(raw); err == nil {
			batch.AccountData = append(batch.AccountData, e)
		}
	}
	for name, r := range s.Rooms.Join {
		batch.Joined[name] = Room{
			State: decode.Timeline(name, r.State.Events, a.reject(name)), Timeline: decode.Timeline(name, r.Timeline.Events, a.reject(name)),
			Limited: r.Timeline.Limited, PrevBatch: r.Timeline.PrevBatch,
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

// invitation finds the event that invites user. The state that comes with an
// invitation is what the inviter's server chose to send, and may hold memberships
// that never were. The homeserver adds the membership event itself, behind all of
// it: that one alone says who invites.
func invitation(stripped []json.RawMessage, user string) (event.Event, error) {
	if len(stripped) == 0 {
		return event.Event{}, fmt.Errorf("%w: an invitation without events", decode.ErrMalformed)
	}
	e, err := decode.FromServer(stripped[len(stripped)-1])
	if err != nil {
		return event.Event{}, err
	}
	if whose, m, ok := e.Member(); !ok || whose != user || m.Membership != "invite" {
		return event.Event{}, fmt.Errorf("%w: an invitation whose last event does not invite", decode.ErrMalformed)
	}
	return e, nil
}

// reject counts an event of a room that is left out, and logs why.
func (a *Account) reject(room string) func(error) {
	return func(err error) {
		if a.cfg.Rejected != nil {
			a.cfg.Rejected()
		}
		a.log.Warn().Err(err).Str("room", room).Msg("event rejected")
	}
}

// Hurry ends the /sync that is held open, so that the next one tells at once
// what the homeserver has.
func (a *Account) Hurry() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cutSync != nil {
		a.cutSync(ErrHurried)
	}
}

func (a *Account) setCut(cut context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cutSync = cut
}

// Messages are at most limit events of a room before a token, newest first, and
// the token before them. all is how many there were with those that are left out
// because they are malformed.
func (a *Account) Messages(ctx context.Context, room, from string, limit int) (chunk []event.Event, all int, end string, err error) {
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
		return nil, 0, "", fmt.Errorf("read messages of %s: %w", room, err)
	}
	return decode.Timeline(room, answer.Chunk, a.reject(room)), len(answer.Chunk), answer.End, nil
}
