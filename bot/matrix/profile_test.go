package matrix

import (
	"bytes"
	"image/png"
	"testing"
)

func TestAvatar(t *testing.T) {
	data, err := avatar()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil || picture.Bounds().Dx() != 192 || len(data) > 8<<10 {
		t.Errorf("%v, %d bytes", err, len(data))
	}
}
