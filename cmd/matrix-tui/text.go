package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode"
)

// reason removes the path from a file system error that is shown next to it.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// shorten cuts a text to a number of characters, marks the cut, and puts the text on
// one line without control characters.
func shorten(text string, most int) string {
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	runes := []rune(strings.Join(strings.Fields(line), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// readAtMost reads everything, or fails if there are more than most bytes.
func readAtMost(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return data, err
}

// harmless keeps what somebody else wrote from steering the terminal: of the
// control characters line breaks and tabs stay, and direction marks go.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
