package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/e2ee"
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

// syncResponse is the part of a /sync answer that we read
// (https://spec.matrix.org/v1.11/client-server-api/#get_matrixclientv3sync).
type syncResponse struct {
	NextBatch string `json:"next_batch"`
	e2ee.Sync
	AccountData rawEvents `json:"account_data"`
	Rooms       struct {
		Join   map[string]joinedRoom `json:"join"`
		Invite map[string]struct {
			State rawEvents `json:"invite_state"`
		} `json:"invite"`
		Leave map[string]struct {
			Timeline rawEvents `json:"timeline"`
		} `json:"leave"`
	} `json:"rooms"`
}

type joinedRoom struct {
	State    rawEvents `json:"state"`
	Timeline struct {
		rawEvents
		Limited   bool   `json:"limited"`
		PrevBatch string `json:"prev_batch"`
	} `json:"timeline"`
}

type rawEvents struct {
	Events []json.RawMessage `json:"events"`
}

// requestSync asks once. since is "" the first time; hold is how long the
// homeserver may wait for something to tell.
func (b *Bot) requestSync(ctx context.Context, since string, hold time.Duration) (*syncResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, hold+time.Minute)
	defer cancel()
	ctx, cutSync := context.WithCancelCause(ctx)
	b.setCutSync(cutSync)
	defer b.setCutSync(nil)
	query := map[string]string{"timeout": strconv.FormatInt(hold.Milliseconds(), 10), "filter": firstFilter}
	if since != "" {
		query["since"], query["filter"] = since, laterFilter
	}
	var resp syncResponse
	_, err := b.client.MakeFullRequest(ctx, mautrix.FullRequest{
		Method:       http.MethodGet,
		URL:          b.client.BuildURLWithQuery(mautrix.ClientURLPath{"v3", "sync"}, query),
		ResponseJSON: &resp,
		MaxAttempts:  1,
	})
	if errors.Is(context.Cause(ctx), errHurry) {
		return nil, errHurry
	}
	if err != nil {
		return nil, fmt.Errorf("sync: %w", err)
	}
	if resp.NextBatch == "" {
		return nil, errors.New("sync: the answer has no next_batch")
	}
	return &resp, nil
}
