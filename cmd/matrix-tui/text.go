package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// reason leaves the path out of an error of the file system, where the path
// was named already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// readAtMost reads everything, or fails when there is more than most bytes.
func readAtMost(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("it holds more than %d MiB", most>>20)
	}
	return data, err
}
