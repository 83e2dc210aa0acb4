package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"matrix-tui/bot/matrix/decode"
	"matrix-tui/state/event"
)

// DisplayName is the account's display name unless somebody sets another one.
const DisplayName = "matrix-tui"

// avatar returns a picture of a terminal prompt as PNG.
func avatar() ([]byte, error) {
	const size = 192
	back, ink := color.RGBA{0x12, 0x1a, 0x24, 0xff}, color.RGBA{0x5c, 0xe0, 0x8a, 0xff}
	picture := image.NewRGBA(image.Rect(0, 0, size, size))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(back), image.Point{}, draw.Src)
	block := func(x, y, w, h int) {
		draw.Draw(picture, image.Rect(x, y, x+w, y+h), image.NewUniform(ink), image.Point{}, draw.Src)
	}
	for i := range 32 { // >
		block(48+i, 56+i, 14, 3)
		block(48+i, 120-i, 14, 3)
	}
	block(100, 116, 48, 14) // _
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return nil, fmt.Errorf("draw avatar: %w", err)
	}
	return out.Bytes(), nil
}

// SetProfile gives the account a display name and an avatar if it has none, and
// returns the name. It never replaces what a person has set.
func (a *Account) SetProfile(ctx context.Context) (string, error) {
	name, picture, err := a.profile(ctx)
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
	data, drawn := avatar()
	if drawn == nil {
		drawn = a.setPicture(ctx, data, "image/png")
	}
	return name, errors.Join(err, drawn)
}

// RoomName returns a room's name, or "" if it has none.
func (a *Account) RoomName(ctx context.Context, room string) (string, error) {
	raw, err := a.state(ctx, room, event.TypeName)
	if err != nil {
		return "", err
	}
	named, err := decode.State(event.TypeName, raw)
	return named.Body.Name, err
}
