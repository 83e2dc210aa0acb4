package settings

import (
	"fmt"
	"io"
)

// Secret holds a password, a token or a key. Every way of printing it (all fmt verbs,
// JSON, YAML, zerolog, slog) prints "redacted"; only Reveal returns the value. The
// value is behind a pointer, so that even %+v of a struct with a Secret in an
// unexported field shows only an address.
type Secret struct{ value *string }

const Redacted = "redacted"

// NewSecret wraps a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value, "" if none is set. Pass the result only to code that needs it, and never store it in a
// struct that is printed.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Set reports whether there is a value.
func (s Secret) Set() bool { return s.value != nil }

// Format prints "redacted" for every verb and flag.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// String, GoString and MarshalText are for printers that do not use Format.
func (Secret) String() string               { return Redacted }
func (Secret) GoString() string             { return Redacted }
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// UnmarshalText stores a value without the line end that editors and echo add to files.
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
