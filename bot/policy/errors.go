package policy

import "fmt"

// Error is for the person who wanted to change the policy: nothing was changed.
type Error struct{ sentence string }

func (e *Error) Error() string { return e.sentence }

// Sentence is for people; it says what would be valid.
func (e *Error) Sentence() string { return e.sentence }

func sayf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
