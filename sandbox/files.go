package sandbox

import "context"

// WriteFile writes data to path in the box, by way of a temporary file beside it,
// so that a reader never sees half of it. Missing directories are made.
func (b *Box) WriteFile(ctx context.Context, path string, data []byte) error { return errTodo }

// WriteNew writes data to path unless something is there already; then it does
// nothing and returns no error.
func (b *Box) WriteNew(ctx context.Context, path string, data []byte) error { return errTodo }

// ReadFile returns the first max bytes of a regular file in the box. It returns
// ErrNotFound when there is none at path.
func (b *Box) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	return nil, errTodo
}
