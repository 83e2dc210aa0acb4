package matrix

import (
	"context"
	_ "embed" // for avatar.png
	"errors"
	"fmt"

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
	name, picture, err := a.read(ctx)
	if err != nil {
		return "", fmt.Errorf("read own profile: %w", err)
	}
	if name == "" || name == a.Localpart() {
		if err = a.setName(ctx, DisplayName); err == nil {
			name = DisplayName
		}
	}
	if picture {
		return name, err
	}
	return name, errors.Join(err, a.setPicture(ctx, avatar, "image/png"))
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
