package person

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/attachment"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// upload stores a file on the homeserver, encrypted if the room is, and adds its address to the content of its message.
func (p *Person) upload(ctx context.Context, room, name, kind string, data []byte, content map[string]any) error {
	encrypted := false
	if p.crypt != nil {
		if _, err := p.cli.State(ctx, id.RoomID(room)); err != nil {
			return fmt.Errorf("ask for the state of %s: %w", room, err)
		}
		var err error
		if encrypted, err = p.cli.StateStore.IsEncrypted(ctx, id.RoomID(room)); err != nil {
			return err
		}
	}
	req := mautrix.ReqUploadMedia{ContentBytes: data, ContentLength: int64(len(data)), ContentType: kind, FileName: name}
	file := attachment.NewEncryptedFile()
	if encrypted {
		req.ContentBytes = bytes.Clone(data) // the caller's, not to be changed
		file.EncryptInPlace(req.ContentBytes)
		req.ContentType, req.FileName = "application/octet-stream", ""
	}
	media, err := p.cli.UploadMedia(ctx, req)
	if err != nil {
		return fmt.Errorf("upload %s: %w", name, err)
	}
	if encrypted {
		content["file"] = event.EncryptedFileInfo{EncryptedFile: *file, URL: media.ContentURI.CUString()}
	} else {
		content["url"] = media.ContentURI.String()
	}
	return nil
}

// Download fetches the file of a message, and decrypts it.
func (p *Person) Download(ctx context.Context, m Msg) ([]byte, error) {
	uri, err := id.ParseContentURI(m.URL)
	if err != nil {
		return nil, fmt.Errorf("read address %q: %w", m.URL, err)
	}
	data, err := p.cli.DownloadBytes(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", m.URL, err)
	}
	if len(m.File) > 0 {
		var file attachment.EncryptedFile
		if err := json.Unmarshal(m.File, &file); err != nil {
			return nil, fmt.Errorf("read description of encrypted file: %w", err)
		}
		if err := file.DecryptInPlace(data); err != nil {
			return nil, fmt.Errorf("decrypt %s: %w", m.URL, err)
		}
	}
	return data, nil
}

// CheckEncrypted returns an error if the file of an encrypted message does not match its description, or is stored
// unencrypted.
func (p *Person) CheckEncrypted(ctx context.Context, file json.RawMessage) error {
	var f struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		return fmt.Errorf("read description of encrypted file: %w", err)
	}
	outer, err := p.Download(ctx, Msg{URL: f.URL})
	if err != nil {
		return err
	}
	inner, err := p.Download(ctx, Msg{URL: f.URL, File: file})
	if err != nil {
		return err
	}
	if len(inner) > 0 && bytes.Equal(outer, inner) {
		return fmt.Errorf("%s is not encrypted", f.URL)
	}
	return nil
}

// Avatar returns the mxc address of a user's picture, "" if there is none.
func (p *Person) Avatar(ctx context.Context, user string) (string, error) {
	uri, err := p.cli.GetAvatarURL(ctx, id.UserID(user))
	if err != nil || uri.IsEmpty() {
		return "", err
	}
	return uri.String(), nil
}
