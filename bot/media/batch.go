package media

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"
)

// Limits bound one Collect. Zero values mean the defaults.
type Limits struct {
	Items int   // files and folders; 20
	Files int   // files and folders within one folder; 1,000
	Depth int   // folders within folders; 16
	Item  int64 // bytes of a file, or of all files of a folder; 50 MiB
	Total int64 // bytes of everything collected; 100 MiB
	// Dir is where temporary files are created; "" = the system's.
	Dir string
	// Begin is called before anything is read, if there is something to collect; it may be nil. Its error ends the
	// Collect.
	Begin func(context.Context) error
	// Attempt is called with an item's Key before its image is scaled down. It calls try, which does that and reports
	// success, unless that has failed or was cut short too often; then the item has no thumbnail. It may be nil.
	Attempt func(ctx context.Context, key string, try func() bool) error
}

// collectTimeout bounds a Collect.
const collectTimeout = 3 * time.Minute

func (l Limits) orDefaults() Limits {
	l.Items = cmp.Or(l.Items, 20)
	l.Files = cmp.Or(l.Files, 1000)
	l.Depth = cmp.Or(l.Depth, 16)
	l.Item = cmp.Or(l.Item, 50<<20)
	l.Total = cmp.Or(l.Total, 100<<20)
	l.Item = min(l.Item, l.Total)
	return l
}

// Item is a file to send, decrypted, in a temporary file on this side.
type Item struct {
	// Name is clean; Type is a media type, detected from the bytes.
	Name, Type string
	// Path is a temporary file of mode 0600.
	Path string
	Size int64
	// Width and Height are those of an image, in pixels; 0 = unknown.
	Width, Height int
	// Animated is whether an image moves, nil if that is not known.
	Animated *bool
	// Thumb is a smaller image, nil if there is none.
	Thumb *Thumb
	// Key is the same each time the same file or folder is collected, so that one that could not be moved after sending
	// is recognised. A file that was written again has another key, even with the same name and bytes.
	Key string

	source found
}

// Refusal is something that is not sent, and the reason, to be shown after the name: "is empty".
type Refusal struct{ Name, Why string }

// Batch is the content of an outbox.
type Batch struct {
	Items   []*Item
	Refused []Refusal

	aside []found // refused for good: moved out of the way
}

// Close removes the temporary files.
func (b *Batch) Close() error {
	var errs []error
	for _, item := range b.Items {
		errs = append(errs, os.Remove(item.Path))
	}
	return errors.Join(errs...)
}
