package release

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// told is an error that carries a sentence for the person who asked.
type told struct {
	err      error
	sentence string
	log      []string // last lines of what did not work
}

func (t *told) Error() string    { return t.err.Error() }
func (t *told) Unwrap() error    { return t.err }
func (t *told) Sentence() string { return t.sentence }

// Lines are the last words of a program that did not do what it should.
func (t *told) Lines() []string { return t.log }

func tell(err error, format string, args ...any) error {
	return &told{err: err, sentence: fmt.Sprintf(format, args...)}
}

// full adds the sentence about a disk that has no room left.
func full(err error, where Base) error {
	var known interface{ Sentence() string }
	said := strings.Contains(strings.Join(linesOf(err), "\n"), syscall.ENOSPC.Error()) // by a program
	if err == nil || !said && (errors.As(err, &known) || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT)) {
		return err
	}
	return tell(err, "The disk under %s is full: free some space and ask again.", where)
}

// ErrNothingNew says that the release that was asked for is the one that runs.
var ErrNothingNew = errors.New("nothing is new")
