package media

import (
	"errors"

	"matrix-tui/bot/text"
	"matrix-tui/state/sentence"
)

var errTooLarge = errors.New("file is too large")

func tooLarge(name string, max int64) error {
	return sentence.Newf(errTooLarge, "The file %s is too large: I accept up to %s.", name, text.Size(max))
}

func broken(name string, err error) error {
	return sentence.Newf(err, "The file %s arrived damaged. Please send it again.", name)
}
