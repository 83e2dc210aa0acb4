// Package sentence is an error that says, in one sentence, what a person can do about it. Every package may use it,
// including state, which is why it is here and imports nothing of ours. It never logs and never decides who may read
// what: a sentence contains no secret and no path that a room must not see.
package sentence

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
)

// Error is an error with a sentence for a person.
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

// With adds the last lines of a failed program's output.
func (e *Error) With(lines []string) *Error {
	return &Error{e.err, e.sentence, lines}
}

func (e *Error) Error() string    { return e.err.Error() }
func (e *Error) Unwrap() error    { return e.err }
func (e *Error) Sentence() string { return e.sentence }

// Of finds the outermost sentence of an error. Types of other packages that carry more than a sentence provide one with
// a method Sentence.
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

// Lines returns the last lines of output of the program that failed, if one did.
func Lines(err error) []string {
	var e *Error
	if !errors.As(err, &e) {
		return nil
	}
	return e.lines
}

// Text is for the operator at a terminal, which is also their log: the sentence of an error, or its text.
func Text(err error) string {
	if said, ok := Of(err); ok {
		return said
	}
	return err.Error()
}

// Tell is for everybody else: the sentence of an error, or an internal error with an ID. The caller logs the error with
// that ID; it is "" for an error with a sentence.
func Tell(err error) (text, id string) {
	if said, ok := Of(err); ok {
		return said, ""
	}
	var random [4]byte
	_, _ = rand.Read(random[:])
	id = hex.EncodeToString(random[:])
	return "Something went wrong on my side (internal error " + id + "; the operator can find it in the log).", id
}

// Log returns what people are told about an error, and logs it with its ID, if it has one.
func Log(log zerolog.Logger, err error) string {
	said, id := Tell(err)
	if id == "" {
		log.Warn().Err(err).Msg("told the room")
	} else {
		log.Error().Err(err).Str("error_id", id).Msg("internal error")
	}
	return said
}
