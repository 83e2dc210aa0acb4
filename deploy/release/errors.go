package release

import (
	"errors"
	"strings"
	"syscall"

	"matrix-tui/state/sentence"
)

// full adds the sentence about a full disk.
func full(err error, where Base) error {
	_, known := sentence.Of(err)
	said := strings.Contains(strings.Join(linesOf(err), "\n"), syscall.ENOSPC.Error()) // in a program's output
	if err == nil || !said && (known || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT)) {
		return err
	}
	return sentence.Newf(err, "The disk under %s is full: free some space and ask again.", where)
}

// ErrNothingNew says that the requested release is the running one.
var ErrNothingNew = errors.New("nothing new")
