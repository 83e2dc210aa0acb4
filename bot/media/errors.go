package media

import (
	"errors"
	"fmt"
	"strings"

	"matrix-tui/state/sentence"
)

// What may be wrong with a file. Errors that wrap them have a sentence.
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
	return problem(ErrTooLarge, err, "The file %s is too large: I accept up to %s.", name, Bytes(max))
}

func gone(name string, err error) error {
	return problem(ErrGone, err, "The homeserver no longer has the file %s. Please send it again.", name)
}

func broken(name string, err error) error {
	return problem(ErrBroken, err, "The file %s arrived damaged. Please send it again.", name)
}

// Bytes formats a size for people: "512 B", "1.4 kB", "50 MB", in units of 1024.
func Bytes(n int64) string {
	const units = "kMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1023.5 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if size >= 10 {
		return fmt.Sprintf("%.0f %cB", size, units[unit])
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + fmt.Sprintf(" %cB", units[unit])
}
