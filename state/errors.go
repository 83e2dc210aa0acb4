package state

import (
	"errors"
)

// ErrNotFound means that the journal has no such event, task or message.
var ErrNotFound = errors.New("not in the journal")

// ErrFinished means that an event is already decided, or that a task is in a state that does not allow the step.
var ErrFinished = errors.New("already decided or answered")

// ErrTwice means that a message is another event already.
var ErrTwice = errors.New("the message is another event already")

// ErrLocked means that another process uses the same state directory.
var ErrLocked = errors.New("state directory is in use")

// ErrFull means that a room has as many entries as it may.
var ErrFull = errors.New("no room for another entry")

// ErrNewer means that a file was written by a newer release than this one.
var ErrNewer = errors.New("written by a newer release")

// ErrOlder means that a file was written by an older release and cannot be read until this release's bot has opened it.
var ErrOlder = errors.New("written by an older release")
