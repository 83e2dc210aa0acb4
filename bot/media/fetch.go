package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/sandbox"
	"matrix-tui/state/sentence"
)

// fetchTimeout bounds fetching one file from the homeserver, or copying it into a container.
const fetchTimeout = 5 * time.Minute

// Getter opens the content of an mxc URI.
type Getter func(ctx context.Context, uri string) (io.ReadCloser, error)

// Fetched is a file that is temporarily on this side, decrypted.
type Fetched struct {
	// Path is a temporary file of mode 0600.
	Path string
	Size int64
	// Sum is the SHA-256 checksum of its bytes, in hex.
	Sum string
	// Type is the media type detected from its bytes.
	Type string
}

// Close removes the file.
func (f *Fetched) Close() error { return os.Remove(f.Path) }

// Fetch downloads a file of at most max bytes to a temporary file in dir ("" = the system's) and decrypts it if
// necessary. An error without a sentence means that the homeserver could not be reached, and may be temporary.
func Fetch(ctx context.Context, get Getter, f File, dir string, max int64) (*Fetched, error) {
	name := CleanName(f.Name)
	if f.URL == "" {
		return nil, broken(name, errors.New("the message has no content URI"))
	}
	if f.Size > max {
		return nil, tooLarge(name, max)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	body, err := get(ctx, f.URL)
	if err != nil {
		return nil, failed(name, max, err)
	}
	defer body.Close()
	tmp, err := os.CreateTemp(dir, "inbox-*")
	if err != nil {
		return nil, fmt.Errorf("create temporary file: %w", err)
	}
	defer tmp.Close()
	fetched, err := take(tmp, body, f, max)
	if err != nil {
		os.Remove(tmp.Name())
		switch {
		case errors.Is(err, matrix.ErrDamagedFile):
			return nil, broken(name, err)
		case errors.Is(err, errTooLarge):
			return nil, tooLarge(name, max)
		}
		return nil, fmt.Errorf("fetch a file: %w", err)
	}
	return fetched, nil
}

// take copies and decrypts.
func take(tmp *os.File, body io.Reader, f File, max int64) (*Fetched, error) {
	sum := sha256.New()
	to, source := io.MultiWriter(tmp, sum), io.LimitReader(body, max+1)
	var size int64
	var err error
	if f.Secret != nil {
		size, err = matrix.Decrypt(to, source, *f.Secret)
	} else {
		size, err = io.Copy(to, source)
	}
	if size > max { // so its hash may be another one
		return nil, errTooLarge
	}
	if err != nil {
		return nil, err
	}
	head := make([]byte, sniffed)
	n, err := tmp.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &Fetched{Path: tmp.Name(), Size: size, Sum: hex.EncodeToString(sum.Sum(nil)), Type: Sniff(head[:n], f.Type)},
		nil
}

// failed classifies the homeserver's error.
func failed(name string, max int64, err error) error {
	switch {
	case matrix.IsFileTooLarge(err):
		return tooLarge(name, max)
	case matrix.IsGone(err):
		return sentence.Newf(err, "The homeserver no longer has the file %s. Please send it again.", name)
	}
	return fmt.Errorf("fetch a file: %w", err)
}

// Container is what this package needs from a room's container; [sandbox.Container] implements it.
type Container interface {
	Exec(context.Context, sandbox.Cmd) (sandbox.Result, error)
}

// Inbox is what Deliver needs from a room's container; [sandbox.Container] implements it.
type Inbox interface {
	Container
	WriteFrom(ctx context.Context, path string, data io.ReaderAt, size int64) error
}

// Deliver copies a fetched file into the container's inbox under name, which comes from FileName, and returns its path.
// If another file has that name, the event becomes a part of it. It may be repeated. It removes the oldest files in the
// inbox above the limits, except those in keep: files of unfinished tasks.
func Deliver(ctx context.Context, container Inbox, name, event string, f *Fetched, keep []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	data, err := os.Open(f.Path)
	if err != nil {
		return "", fmt.Errorf("deliver a file: %w", err)
	}
	defer data.Close()
	to, other := path.Join(InboxDir, name), path.Join(InboxDir, distinct(name, event))
	result, err := container.Exec(ctx, sandbox.Cmd{
		Argv: append([]string{"/bin/sh", "-c", bringScript, "inbox"}, bringArgs(to, other, f, keep)...),
		Dir:  "/", Env: []string{"LC_ALL=C"},
	})
	if err != nil {
		return "", fmt.Errorf("deliver a file: %w", err)
	}
	if result.Code != 0 {
		return "", fmt.Errorf("deliver a file: exit code %d: %.200q", result.Code, result.Stderr)
	}
	if string(result.Stdout) == other {
		to = other
	}
	if err := container.WriteFrom(ctx, to, data, f.Size); err != nil {
		return "", fmt.Errorf("deliver a file: %w", err)
	}
	return to, nil
}
