package media

import (
	"errors"
	"fmt"

	"matrix-tui/bot/text"
	"matrix-tui/state/sentence"
)

// What may be wrong with a file. Errors that wrap them have a sentence.
var (
	// ErrTooLarge: it has more bytes than are allowed.
	ErrTooLarge = errors.New("file is too large")
	// ErrGone: the server has no such file, or has it no more.
	ErrGone = errors.New("file is gone")
	// ErrBroken: the message names no file, or the bytes are not the ones that the
	// message vouches for.
	ErrBroken = errors.New("file is broken")
)

// problem adds to a kind of problem what came of it, if anything, and a sentence.
func problem(kind, err error, format string, args ...any) error {
	if err != nil {
		kind = fmt.Errorf("%w: %w", kind, err)
	}
	return sentence.Newf(kind, format, args...)
}

func tooLarge(name string, max int64, err error) error {
	return problem(ErrTooLarge, err, "The file %s is too large: I take up to %s.", name, text.Size(max))
}

func gone(name string, err error) error {
	return problem(ErrGone, err, "The server does not have the file %s (any more). Please send it again.", name)
}

func broken(name string, err error) error {
	return problem(ErrBroken, err, "The file %s arrived broken. Please send it again.", name)
}
