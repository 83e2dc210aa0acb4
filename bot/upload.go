package bot

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/matrix/e2ee"
)

// uploaded gives the homeserver a text as a file, encrypted where the room is,
// and returns the message that refers to it. Of an encrypted one neither the
// name nor the kind is told outside of that message.
func (t *task) uploaded(ctx context.Context, name, text string) (*message, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	encrypted, err := t.bot.account.IsEncrypted(ctx, t.id)
	if err != nil {
		return nil, err
	}
	m := fileMessage(name, len(text))
	if !encrypted {
		if m.URL, err = t.bot.account.Upload(ctx, strings.NewReader(text), int64(len(text)), "text/markdown", name); err != nil {
			return nil, fmt.Errorf("upload %s: %w", name, err)
		}
		return m, nil
	}
	data := []byte(text)
	file, err := e2ee.EncryptFile(data)
	if err != nil {
		return nil, err
	}
	uri, err := t.bot.account.Upload(ctx, bytes.NewReader(data), int64(len(data)), "application/octet-stream", "")
	if err != nil {
		return nil, fmt.Errorf("upload %s: %w", name, err)
	}
	m.File, err = e2ee.FileAt(file, uri)
	return m, err
}
