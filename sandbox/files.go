package sandbox

import (
	"bytes"
	"context"

	"matrix-tui/sandbox/boxinit"
)

// WriteFile writes data to path in the container through a temporary file, so that a
// reader never sees a partial file. It creates missing directories.
func (c *Container) WriteFile(ctx context.Context, path string, data []byte) error {
	request := boxinit.Request{Op: boxinit.OpWrite, Path: path, Size: int64(len(data))}
	_, err := c.short(ctx, "write "+path, request, func(o *operation) { o.stdin = bytes.NewReader(data) })
	return err
}

// ReadFile returns the first max bytes of a regular file in the container, or
// ErrNotFound.
func (c *Container) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	var out *bounded
	request := boxinit.Request{Op: boxinit.OpRead, Path: path, Size: max}
	_, err := c.short(ctx, "read "+path, request, func(o *operation) {
		out = &bounded{left: max}
		o.stdout = out
	})
	if err != nil {
		return nil, err
	}
	return out.kept.Bytes(), nil
}
