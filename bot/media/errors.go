package media

import (
	"errors"
	"fmt"
	"strings"
)

// What may be wrong with a file. Errors that wrap them say it to a person by
// Sentence() string.
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
type problem struct {
	kind error // one of the sentinels
	said string
	err  error // what came of it, or nil
}

func (p *problem) Error() string {
	if p.err == nil {
		return p.kind.Error()
	}
	return fmt.Sprintf("%v: %v", p.kind, p.err)
}

// Unwrap gives the sentinel and the cause.
func (p *problem) Unwrap() []error {
	if p.err == nil {
		return []error{p.kind}
	}
	return []error{p.kind, p.err}
}

// Sentence is what a person in the room may read.
func (p *problem) Sentence() string { return p.said }

func tooLarge(name string, max int64, err error) error {
	return &problem{ErrTooLarge, fmt.Sprintf("The file %s is too large: I accept up to %s.", name, Bytes(max)), err}
}

func gone(name string, err error) error {
	return &problem{ErrGone, fmt.Sprintf("The homeserver no longer has the file %s. Please send it again.", name), err}
}

func broken(name string, err error) error {
	return &problem{ErrBroken, fmt.Sprintf("The file %s arrived damaged. Please send it again.", name), err}
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
