package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Reason removes the path from a file system error that is shown next to it.
func Reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// ReadAtMost reads everything, or fails if there are more than most bytes.
func ReadAtMost(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return data, err
}
