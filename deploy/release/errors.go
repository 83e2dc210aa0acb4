package release

import (
	"errors"
	"strings"
	"syscall"

	"matrix-tui/state/sentence"
)

// full adds the sentence about a disk that has no room left.
func full(err error, where Base) error {
	_, known := sentence.Of(err)
	said := strings.Contains(strings.Join(linesOf(err), "\n"), syscall.ENOSPC.Error()) // by a program
	if err == nil || !said && (known || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT)) {
		return err
	}
	return sentence.Newf(err, "The disk under %s is full: free some space and ask again.", where)
}

// ErrNothingNew says that the release that was asked for is the one that runs.
var ErrNothingNew = errors.New("nothing is new")
