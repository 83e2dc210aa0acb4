package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/attachment"
	"maunium.net/go/mautrix/id"

	"matrix-tui/state/event"
)

// ErrDamagedFile means that an encrypted file is not what its message describes.
var ErrDamagedFile = errors.New("damaged file")

// Upload uploads a file of a known size and type and returns where it is. With encrypt, the homeserver learns neither
// its name nor its type. The name may be "".
func (a Messages) Upload(
	ctx context.Context, data io.ReadSeeker, f event.FileInfo, name string, encrypt bool,
) (event.FileInfo, error) {
	as := mautrix.ReqUploadMedia{Content: keepOpen{data}, ContentLength: f.Size, ContentType: f.MimeType, FileName: name}
	if encrypt {
		file := attachment.NewEncryptedFile()
		first := file.EncryptStream(io.NopCloser(data)) // for the hash
		_, err := io.Copy(io.Discard, first)
		if err := errors.Join(err, first.Close()); err != nil {
			return f, fmt.Errorf("encrypt %s: %w", name, err)
		}
		if _, err := data.Seek(0, io.SeekStart); err != nil {
			return f, fmt.Errorf("encrypt %s: %w", name, err)
		}
		key := file.Key
		f.Secret = &event.EncryptedFile{
			Version: file.Version, IV: file.InitVector, SHA256: file.Hashes.SHA256,
			Key: event.JWK{K: key.Key, Alg: key.Algorithm, Ext: key.Extractable, Kty: key.KeyType, KeyOps: key.KeyOps},
		}
		as.Content = keepOpen{file.EncryptStream(data)}
		as.ContentType, as.FileName = "application/octet-stream", ""
	}
	resp, err := a.client.UploadMedia(ctx, as)
	if err != nil {
		return f, fmt.Errorf("upload %s: %w", name, err)
	}
	f.URL = resp.ContentURI.String()
	return f, nil
}

// keepOpen keeps the HTTP client from closing a file.
type keepOpen struct{ io.ReadSeeker }

func (keepOpen) Close() error { return nil }

// Download opens the file at an mxc URI.
func (a Messages) Download(ctx context.Context, uri string) (io.ReadCloser, error) {
	mxc, err := id.ParseContentURI(uri)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Download(ctx, mxc)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Decrypt copies an encrypted file to a writer, decrypted. It fails with ErrDamagedFile if that is impossible or if it
// is another file; something has been written even then.
func Decrypt(to io.Writer, data io.Reader, secret event.EncryptedFile) (int64, error) {
	file := attachment.EncryptedFile{
		Key: attachment.JSONWebKey{
			Key: secret.Key.K, Algorithm: secret.Key.Alg, Extractable: secret.Key.Ext, KeyType: secret.Key.Kty,
			KeyOps: secret.Key.KeyOps,
		},
		InitVector: secret.IV, Hashes: attachment.EncryptedFileHashes{SHA256: secret.SHA256}, Version: secret.Version,
	}
	if err := file.PrepareForDecryption(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamagedFile, err)
	}
	stream := file.DecryptStream(io.NopCloser(data))
	n, err := io.Copy(to, stream)
	if err != nil {
		return n, err
	}
	if err := stream.Close(); err != nil { // this compares the hash
		return n, fmt.Errorf("%w: %w", ErrDamagedFile, err)
	}
	return n, nil
}
