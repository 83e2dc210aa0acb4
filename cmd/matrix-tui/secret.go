package main

import (
	"fmt"
	"io"
)

// Secret holds a password, a token or a key. Every way of printing it (each
// verb of fmt, JSON, YAML, zerolog, slog) gives the word "redacted"; only
// Reveal gives the value. The value sits behind a pointer, so that even a %+v
// of a structure that keeps a Secret in an unexported field shows no more than
// an address.
type Secret struct{ value *string }

const redacted = "redacted"

// NewSecret wraps a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal gives the value, "" when none is set. Its result goes to the one that
// needs it and into no structure that is printed.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Set tells whether there is a value.
func (s Secret) Set() bool { return s.value != nil }

// Format prints the word "redacted" for every verb and flag.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String, GoString and MarshalText are for printers that do not ask Format.
func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText takes a value as it was set, without the line end that editors
// and echo leave in files.
func (s *Secret) UnmarshalText(text []byte) error {
	value := string(text)
	for len(value) > 0 && (value[len(value)-1] == '\n' || value[len(value)-1] == '\r') {
		value = value[:len(value)-1]
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] == 0x7f {
			return fmt.Errorf("it contains a line break or another control character")
		}
	}
	*s = NewSecret(value)
	return nil
}
