package sandbox

import (
	"context"
	"fmt"
	"strconv"
)

// WriteFile writes data to path in the container, by way of a temporary file beside it,
// so that a reader never sees half of it. Missing directories are made.
func (c *Container) WriteFile(ctx context.Context, path string, data []byte) error {
	return c.write(ctx, path, data, "write")
}

// WriteNew writes data to path unless something is there already; then it does
// nothing and returns no error.
func (c *Container) WriteNew(ctx context.Context, path string, data []byte) error {
	return c.write(ctx, path, data, "write", "-new")
}

func (c *Container) write(ctx context.Context, path string, data []byte, argv ...string) error {
	// The size goes along: a connection that breaks must not look like the end.
	_, err := c.command(ctx, "write "+path, data, append(argv, path, strconv.Itoa(len(data)))...)
	return err
}

// ReadFile returns the first max bytes of a regular file in the container. It returns
// ErrNotFound when there is none at path.
func (c *Container) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	result, err := c.Exec(ctx, Cmd{
		Argv:      []string{initPath, "read", path, strconv.FormatInt(max, 10)},
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
