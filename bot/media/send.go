package media

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/event"
)

// Upload uploads an item and its thumbnail and returns what a message says about them. For an encrypted room it
// encrypts both.
func Upload(ctx context.Context, account *matrix.Account, item *Item, encrypt bool) (event.FileInfo, error) {
	data, err := os.Open(item.Path)
	if err != nil {
		return event.FileInfo{}, fmt.Errorf("upload %s: %w", item.Name, err)
	}
	defer data.Close()
	up := event.FileInfo{MimeType: item.Type, Size: item.Size, Width: item.Width, Height: item.Height,
		Animated: item.Animated}
	up, err = account.Messages.Upload(ctx, data, up, item.Name, encrypt)
	if thumb := item.Thumb; err == nil && thumb != nil {
		small := event.FileInfo{MimeType: thumb.Type, Size: int64(len(thumb.Data)), Width: thumb.Width, Height: thumb.Height}
		small, err = account.Messages.Upload(ctx, bytes.NewReader(thumb.Data), small, "", encrypt)
		up.Thumb = &small
	}
	return up, err
}
