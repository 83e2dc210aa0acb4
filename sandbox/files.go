package sandbox

import (
	"bytes"
	"context"
	"io"

	"matrix-tui/sandbox/boxinit"
)

// WriteFile writes data to path in the container through a temporary file, so that a
// reader never sees a partial file. It creates missing directories.
func (c *Container) WriteFile(ctx context.Context, path string, data []byte) error {
	return c.WriteFrom(ctx, path, bytes.NewReader(data), int64(len(data)))
}

// WriteFrom is WriteFile for data of a size that is read from its beginning, each time if it is tried again.
func (c *Container) WriteFrom(ctx context.Context, path string, data io.ReaderAt, size int64) error {
	request := boxinit.Request{Op: boxinit.OpWrite, Path: path, Size: size}
	_, err := c.door.short(ctx, "write "+path, request,
		func(o *operation) { o.stdin = io.NewSectionReader(data, 0, size) })
	return err
}

// ReadFile returns the first max bytes of a regular file in the container, or
// ErrNotFound.
func (c *Container) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	var out *bounded
	request := boxinit.Request{Op: boxinit.OpRead, Path: path, Size: max}
	_, err := c.door.short(ctx, "read "+path, request, func(o *operation) {
		out = &bounded{left: max}
		o.stdout = out
	})
	if err != nil {
		return nil, err
	}
	return out.kept.Bytes(), nil
}
