// Package sentence is the error that says, in a sentence, what a person can do
// about it. Every package may use it, state included, which is why it lies here
// and imports nothing of ours. It never logs and never decides who may read what:
// a sentence holds no secret and no path that a room must not see.
package sentence

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
)

// Error is an error and the sentence that a person is told of it.
type Error struct {
	err      error
	sentence string
	lines    []string
}

// New adds a sentence to an error.
func New(err error, sentence string) *Error { return &Error{err: err, sentence: sentence} }

// Newf is New with a format.
func Newf(err error, format string, args ...any) *Error {
	return &Error{err: err, sentence: fmt.Sprintf(format, args...)}
}

// With adds the last lines of output of a program that failed.
func (e *Error) With(lines []string) *Error {
	return &Error{e.err, e.sentence, lines}
}

func (e *Error) Error() string    { return e.err.Error() }
func (e *Error) Unwrap() error    { return e.err }
func (e *Error) Sentence() string { return e.sentence }

// Of finds the outermost sentence of an error. Types of other packages that carry
// more than a sentence have one too, by a method Sentence.
func Of(err error) (sentence string, ok bool) {
	var said interface {
		error
		Sentence() string
	}
	if !errors.As(err, &said) {
		return "", false
	}
	return said.Sentence(), true
}

// Lines are the last lines of output of the program that failed, if one did.
func Lines(err error) []string {
	var e *Error
	if !errors.As(err, &e) {
		return nil
	}
	return e.lines
}

// Text is what the operator is told at a terminal, which is their log: the
// sentence of an error, or its text.
func Text(err error) string {
	if said, ok := Of(err); ok {
		return said
	}
	return err.Error()
}

// Tell is what anybody else is told: the sentence of an error, or that something
// failed inside, with an ID. The caller logs the error with that ID; it is ""
// for an error with a sentence.
func Tell(err error) (text, id string) {
	if said, ok := Of(err); ok {
		return said, ""
	}
	var random [4]byte
	_, _ = rand.Read(random[:])
	id = hex.EncodeToString(random[:])
	return "Something went wrong on my side (internal error " + id + "; the operator can find it in the log).", id
}
