package matrix

import (
	"context"
	_ "embed" // for avatar.png
	"errors"
	"fmt"

	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/state/event"
)

// DisplayName is the account's display name unless somebody sets another one.
const DisplayName = "matrix-tui"

// avatar is a picture of a terminal prompt.
//
//go:embed avatar.png
var avatar []byte

// Set gives the account a display name and an avatar if it has none, and
// returns the name. It never replaces what a person has set.
func (a Profile) Set(ctx context.Context) (string, error) {
	profile, err := a.client.GetProfile(ctx, a.client.UserID)
	if IsNotFound(err) {
		profile, err = &mautrix.RespUserProfile{}, nil
	}
	if err != nil {
		return "", fmt.Errorf("read own profile: %w", err)
	}
	name := profile.DisplayName
	if name == "" || name == a.Localpart() {
		if err = a.client.SetDisplayName(ctx, DisplayName); err == nil {
			name = DisplayName
		}
	}
	if !profile.AvatarURL.IsEmpty() {
		return name, err
	}
	uploaded, failed := a.client.UploadBytes(ctx, avatar, "image/png")
	if failed == nil {
		failed = a.client.SetAvatarURL(ctx, uploaded.ContentURI)
	}
	return name, errors.Join(err, failed)
}

// Name returns a room's name, or "" if it has none.
func (a Rooms) Name(ctx context.Context, room string) (string, error) {
	raw, err := a.state(ctx, room, event.TypeName)
	if err != nil {
		return "", err
	}
	named, err := decode.State(event.TypeName, raw)
	return named.Body.Name, err
}
