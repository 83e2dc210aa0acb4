package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"matrix-tui/bot/matrix/e2ee"
)

// uploaded gives the homeserver a text as a file, encrypted where the room is,
// and returns the message that refers to it. Of an encrypted one neither the
// name nor the kind is told outside of that message.
func (t *task) uploaded(ctx context.Context, name, text string) (*message, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	encrypted, err := t.bot.encrypted(ctx, t.id)
	if err != nil {
		return nil, err
	}
	m := fileMessage(name, len(text))
	if !encrypted {
		resp, err := t.bot.client.UploadBytesWithName(ctx, []byte(text), "text/markdown", name)
		if err != nil {
			return nil, fmt.Errorf("upload %s: %w", name, err)
		}
		m.URL = resp.ContentURI.CUString()
		return m, nil
	}
	data := []byte(text)
	file, err := e2ee.EncryptFile(data)
	if err != nil {
		return nil, err
	}
	resp, err := t.bot.client.UploadBytes(ctx, data, "application/octet-stream")
	if err != nil {
		return nil, fmt.Errorf("upload %s: %w", name, err)
	}
	if file, err = e2ee.FileAt(file, resp.ContentURI.String()); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(file, &m.File); err != nil {
		return nil, fmt.Errorf("describe encrypted file: %w", err)
	}
	return m, nil
}
