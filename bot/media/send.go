package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maunium.net/go/mautrix/crypto/attachment"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/text"
)

// Putter uploads a file and returns its mxc URI. The name may be "".
type Putter func(ctx context.Context, data io.ReadSeeker, size int64, contentType, name string) (string, error)

// Location is where the homeserver stores a file: URL, or File if it is encrypted.
type Location struct {
	URL  string         `json:"url,omitempty"`
	File *EncryptedFile `json:"file,omitempty"`
}

// EncryptedFile is the EncryptedFile of the Matrix specification.
type EncryptedFile struct {
	attachment.EncryptedFile
	URL string `json:"url"`
}

// Uploaded is where the homeserver stores an item, and its thumbnail if it has one.
type Uploaded struct {
	Location
	Thumb *Location `json:"thumbnail,omitempty"`
}

// unknown is the type that the server sees for encrypted files.
const unknown = "application/octet-stream"

// Upload uploads an item and its thumbnail. For an encrypted room it encrypts both; the
// homeserver then learns neither name nor type. An error that wraps ErrTooLarge means
// that the homeserver accepts no file of that size.
func Upload(ctx context.Context, put Putter, item *Item, encrypted bool) (Uploaded, error) {
	var up Uploaded
	data, err := os.Open(item.Path)
	if err != nil {
		return up, fmt.Errorf("upload %s: %w", item.Name, err)
	}
	defer data.Close()
	if encrypted {
		up.File, err = uploadEncrypted(ctx, put, data)
	} else {
		up.URL, err = put(ctx, data, item.Size, item.Type, item.Name)
	}
	if err == nil && item.Thumb != nil {
		up.Thumb, err = uploadThumb(ctx, put, item.Thumb, encrypted)
	}
	if matrix.IsFileTooLarge(err) {
		err = problem(ErrTooLarge, err, "The homeserver rejects %s: %s is too large.", item.Name, text.Size(item.Size))
	}
	if err != nil {
		return Uploaded{}, fmt.Errorf("upload %s: %w", item.Name, err)
	}
	return up, nil
}

// uploadEncrypted encrypts into a second temporary file, which can be sent again if a connection
// breaks, and uploads that.
func uploadEncrypted(ctx context.Context, put Putter, data *os.File) (*EncryptedFile, error) {
	tmp, err := os.CreateTemp(filepath.Dir(data.Name()), "encrypted-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	file := &EncryptedFile{EncryptedFile: *attachment.NewEncryptedFile()}
	source := file.EncryptStream(io.NopCloser(data))
	size, err := io.Copy(tmp, source)
	if err := errors.Join(err, source.Close()); err != nil { // this computes the hash
		return nil, err
	}
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	file.URL, err = put(ctx, tmp, size, unknown, "")
	return file, err
}

func uploadThumb(ctx context.Context, put Putter, thumb *Thumb, encrypted bool) (*Location, error) {
	size := int64(len(thumb.Data))
	if !encrypted {
		url, err := put(ctx, bytes.NewReader(thumb.Data), size, thumb.Type, "")
		return &Location{URL: url}, err
	}
	data := bytes.Clone(thumb.Data)
	file := &EncryptedFile{EncryptedFile: *attachment.NewEncryptedFile()}
	file.EncryptInPlace(data)
	var err error
	file.URL, err = put(ctx, bytes.NewReader(data), size, unknown, "")
	return &Location{File: file}, err
}

// content is an m.room.message with a file; it has either url or file.
type content struct {
	MsgType  string            `json:"msgtype"`
	Body     string            `json:"body"`
	FileName string            `json:"filename"`
	Info     info              `json:"info"`
	Mentions struct{}          `json:"m.mentions"`
	Relates  *matrix.RelatesTo `json:"m.relates_to,omitempty"`
	Location
}

type info struct {
	MimeType  string         `json:"mimetype"`
	Size      int64          `json:"size"`
	Width     int            `json:"w,omitempty"`
	Height    int            `json:"h,omitempty"`
	Animated  *bool          `json:"org.matrix.msc4230.is_animated,omitempty"` // without it, some clients label PNGs as GIFs
	ThumbURL  string         `json:"thumbnail_url,omitempty"`
	ThumbFile *EncryptedFile `json:"thumbnail_file,omitempty"`
	ThumbInfo *info          `json:"thumbnail_info,omitempty"`
}

// Content is the message for an uploaded item: m.image for types that clients show,
// m.audio, m.video or m.file. It mentions nobody.
func Content(item *Item, up Uploaded, relates *matrix.RelatesTo) (json.RawMessage, error) {
	c := content{
		MsgType: msgType(item.Type), Body: item.Name, FileName: item.Name, Location: up.Location, Relates: relates,
		Info: info{MimeType: item.Type, Size: item.Size, Width: item.Width, Height: item.Height, Animated: item.Animated},
	}
	if up.Thumb != nil && item.Thumb != nil {
		c.Info.ThumbURL, c.Info.ThumbFile = up.Thumb.URL, up.Thumb.File
		c.Info.ThumbInfo = &info{MimeType: item.Thumb.Type, Size: int64(len(item.Thumb.Data)), Width: item.Thumb.Width, Height: item.Thumb.Height}
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write a file's message: %w", err)
	}
	return raw, nil
}

func msgType(kind string) string {
	switch {
	case slices.Contains(shown, kind):
		return "m.image"
	case strings.HasPrefix(kind, "audio/"):
		return "m.audio"
	case strings.HasPrefix(kind, "video/"):
		return "m.video"
	}
	return "m.file"
}
