package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// reason removes the path from a file system error that is shown next to it.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// readAtMost reads everything, or fails if there are more than most bytes.
func readAtMost(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return data, err
}
