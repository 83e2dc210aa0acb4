package media

import (
	"errors"
	"fmt"

	"matrix-tui/bot/text"
	"matrix-tui/state/sentence"
)

// What can be wrong with a file. Errors that wrap them have a sentence.
var (
	// ErrTooLarge: the file has more bytes than allowed.
	ErrTooLarge = errors.New("file is too large")
	// ErrGone: the homeserver does not have the file (any more).
	ErrGone = errors.New("file is gone")
	// ErrBroken: the message names no file, or the bytes do not match the message's
	// hash.
	ErrBroken = errors.New("file is broken")
)

// problem is an error with a sentence for people.
func problem(kind, err error, format string, args ...any) error {
	if err != nil {
		kind = fmt.Errorf("%w: %w", kind, err)
	}
	return sentence.Newf(kind, format, args...)
}

func tooLarge(name string, max int64, err error) error {
	return problem(ErrTooLarge, err, "The file %s is too large: I accept up to %s.", name, text.Size(max))
}

func gone(name string, err error) error {
	return problem(ErrGone, err, "The homeserver no longer has the file %s. Please send it again.", name)
}

func broken(name string, err error) error {
	return problem(ErrBroken, err, "The file %s arrived damaged. Please send it again.", name)
}
