package rooms

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
)

const (
	namesTime = 5 * time.Second // for all names together
	namesOnce = 8               // asked at the same time
)

// nameRooms fills in the rooms' names, by asking the homeserver with the bot's stored
// login. Without an answer the names stay empty.
func nameRooms(ctx context.Context, cfg *settings.Config, lines []RoomLine) {
	stored := cli.LoadLogin(cfg)
	if !stored.Token.Set() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(namesOnce)
	for i := range lines {
		if lines[i].Stray {
			continue
		}
		group.Go(func() error {
			lines[i].Name = roomName(ctx, stored, lines[i].Room)
			return nil
		})
	}
	_ = group.Wait() // none of them fails
}

// roomName returns the room's name, or "".
func roomName(ctx context.Context, stored cli.StoredLogin, room string) string {
	var answer struct {
		Name string `json:"name"`
	}
	address := stored.Homeserver + "/_matrix/client/v3/rooms/" + url.PathEscape(room) + "/state/m.room.name"
	status, err := cli.Ask(ctx, cli.Request{URL: address, Bearer: stored.Token}, &answer)
	if err != nil || status != http.StatusOK {
		return ""
	}
	return answer.Name
}
