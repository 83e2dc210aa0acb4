package sandbox

import (
	"context"
	"fmt"
	"strconv"
)

// WriteFile writes data to path in the container through a temporary file, so that a
// reader never sees a partial file. It creates missing directories.
func (c *Container) WriteFile(ctx context.Context, path string, data []byte) error {
	return c.write(ctx, path, data, "write")
}

// WriteNew writes data to path if nothing exists there; otherwise it does nothing and
// returns no error.
func (c *Container) WriteNew(ctx context.Context, path string, data []byte) error {
	return c.write(ctx, path, data, "write", "-new")
}

func (c *Container) write(ctx context.Context, path string, data []byte, argv ...string) error {
	// The size is sent along: a broken connection must not look like the end.
	_, err := c.command(ctx, "write "+path, data, append(argv, path, strconv.Itoa(len(data)))...)
	return err
}

// ReadFile returns the first max bytes of a regular file in the container, or
// ErrNotFound.
func (c *Container) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	result, err := c.Exec(ctx, Cmd{
		Argv:      []string{c.init, "read", path, strconv.FormatInt(max, 10)},
		MaxOutput: max + 1,
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := failure(result, "read "+path); err != nil {
		return nil, err
	}
	return result.Stdout, nil
}
