package policy

import "fmt"

// Error is what somebody who wants to change the policy is told: nothing was
// changed.
type Error struct{ sentence string }

func (e *Error) Error() string { return e.sentence }

// Sentence is for people; it names what would be right.
func (e *Error) Sentence() string { return e.sentence }

func sayf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
