package matrix

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/matrix/e2ee"
)

// UploadText uploads a text as a file, encrypted if the room is, and returns the
// message that refers to it. The homeserver learns neither the name nor the type of
// an encrypted file.
func (a *Account) UploadText(ctx context.Context, room, name, text string) (*Message, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	encrypted, err := a.IsEncrypted(ctx, room)
	if err != nil {
		return nil, err
	}
	m := FileMessage(name, len(text))
	if !encrypted {
		if m.URL, err = a.Upload(ctx, strings.NewReader(text), int64(len(text)), "text/markdown", name); err != nil {
			return nil, fmt.Errorf("upload %s: %w", name, err)
		}
		return m, nil
	}
	data := []byte(text)
	file, err := e2ee.EncryptFile(data)
	if err != nil {
		return nil, err
	}
	uri, err := a.Upload(ctx, bytes.NewReader(data), int64(len(data)), "application/octet-stream", "")
	if err != nil {
		return nil, fmt.Errorf("upload %s: %w", name, err)
	}
	m.File, err = e2ee.FileAt(file, uri)
	return m, err
}
