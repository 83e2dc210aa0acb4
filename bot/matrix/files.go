package matrix

import (
	"context"
	"io"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"
)

// Upload uploads a file and returns its mxc URI. The name may be "".
func (a *Account) Upload(ctx context.Context, data io.ReadSeeker, size int64, contentType, name string) (string, error) {
	resp, err := a.client.UploadMedia(ctx, mautrix.ReqUploadMedia{
		Content: keepOpen{data}, ContentLength: size, ContentType: contentType, FileName: name,
	})
	if err != nil {
		return "", err
	}
	return resp.ContentURI.String(), nil
}

// keepOpen keeps the HTTP client from closing a file.
type keepOpen struct{ io.ReadSeeker }

func (keepOpen) Close() error { return nil }

// Download opens the file at an mxc URI.
func (a *Account) Download(ctx context.Context, uri string) (io.ReadCloser, error) {
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
