package bot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
)

// avatar is a picture of a terminal that waits for a word, as PNG.
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
