package media

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Limits bound what one Collect takes. Zero values stand for the defaults.
type Limits struct {
	Items int   // files and folders; 20
	Files int   // files and folders within one folder; 1,000
	Depth int   // folders within folders; 16
	Item  int64 // bytes of a file, or of all files of a folder; 50 MiB
	Total int64 // bytes of all that is taken; 100 MiB
	// Dir is where the temporary files are made; "" = the system's.
	Dir string
}

// collectPatience bounds a Collect.
const collectPatience = 3 * time.Minute

func (l Limits) orDefaults() Limits {
	l.Items = cmp.Or(l.Items, 20)
	l.Files = cmp.Or(l.Files, 1000)
	l.Depth = cmp.Or(l.Depth, 16)
	l.Item = cmp.Or(l.Item, 50<<20)
	l.Total = cmp.Or(l.Total, 100<<20)
	l.Item = min(l.Item, l.Total)
	return l
}

// Item is a file to send, in the clear, in a temporary file on this side.
type Item struct {
	// Name is clean; Type is a media type, by the bytes.
	Name, Type string
	// Path is a temporary file of mode 0600.
	Path string
	Size int64
	// Width and Height are those of an image, in pixels; 0 = not known.
	Width, Height int
	// Thumb is a smaller image, nil where there is none.
	Thumb *Thumb
	// Key is the same whenever the same bytes are collected under the same name.
	Key string

	source found
}

// Refusal is what is not sent, and why, in words for a person that go behind the
// name: "is a link".
type Refusal struct{ Name, Why string }

// Batch is what was found in an outbox.
type Batch struct {
	Items   []*Item
	Refused []Refusal

	aside []found // refused for good: it goes out of the way
}

// Close removes the temporary files.
func (b *Batch) Close() error {
	var errs []error
	for _, item := range b.Items {
		errs = append(errs, os.Remove(item.Path))
	}
	return errors.Join(errs...)
}

// found is a file or folder that lies directly in the outbox, with all that is
// in it.
type found struct {
	entry  entry
	within []entry
	cut    bool // there is more within
	levels int  // how deep it was looked into
}

// sign is the same as long as nothing in it has changed.
func (f found) sign() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00%v\x00", f.entry.path, f.entry.meta, f.cut)
	for _, e := range f.within {
		fmt.Fprintf(sum, "%s\x00%s\x00", e.path, e.meta)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Collect copies what lies in the box's outbox to this side: regular files with
// one name each, and folders of such files as .tar.gz. The rest is refused. What
// is over a count or over the total stays for the next time, as does a file that
// is still written to. Sent moves away what was collected; until then it is there
// to be collected again. Without an error the caller closes the batch. An error
// means that the box could not be asked.
func Collect(parent context.Context, box Box, limits Limits) (*Batch, error) {
	limits = limits.orDefaults()
	ctx, cancel := context.WithTimeout(parent, collectPatience)
	defer cancel()
	b := new(Batch)
	entries, cut, err := list(ctx, box, "", 1)
	switch {
	case errors.Is(err, errNoOutbox):
		return b, nil
	case errors.Is(err, errOddOutbox):
		b.refuse("outbox", "is not a folder of its own, so I do not look into it")
		return b, nil
	case err != nil:
		return nil, err
	}
	sortByPath(entries)
	left := limits.Total
	for i, e := range entries {
		rest := more(len(entries)-i, cut)
		if len(b.Items) == limits.Items || len(b.Refused) == limits.Items {
			b.refuse("", fmt.Sprintf("%s in the outbox for the next time: I take up to %d at once, and a folder counts as one", rest, limits.Items))
			return b, nil
		}
		err := b.take(ctx, box, e, limits, &left)
		if err != nil && ctx.Err() != nil && parent.Err() == nil {
			b.refuse("", rest+" in the outbox for the next time: reading took too long")
			return b, nil
		}
		if err != nil {
			b.Close()
			return nil, err
		}
	}
	if cut {
		b.refuse("", more(0, cut)+" in the outbox for the next time")
	}
	return b, nil
}

// more says that some stay: n, or of a list that was cut off even more.
func more(n int, cut bool) string {
	switch {
	case cut && n == 0:
		return "The others stay"
	case cut:
		return fmt.Sprintf("More than %d others stay", n)
	case n == 1:
		return "One more stays"
	}
	return fmt.Sprintf("%d others stay", n)
}

// look lists what is in a folder; a file is what it is.
func look(ctx context.Context, box Box, e entry, levels int) (f found, err error) {
	f.entry, f.levels = e, levels
	if e.isDir() {
		f.within, f.cut, err = list(ctx, box, e.path, levels)
		sortByPath(f.within)
	}
	return f, err
}

func sortByPath(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
}

// refuse notes what is not sent.
func (b *Batch) refuse(name, why string) {
	if name != "" {
		name = CleanName(name)
	}
	b.Refused = append(b.Refused, Refusal{name, why})
}

// refusal is an error for a person that ends one item alone. One that is final
// will not change by itself.
type refusal struct {
	why   string
	final bool
}

func (r *refusal) Error() string { return r.why }

// errChanged refuses what is not any more what it was when it was listed.
var errChanged = &refusal{why: "changed while I was reading it; it stays in the outbox for the next time"}

// take collects one file or folder, or refuses it.
func (b *Batch) take(ctx context.Context, box Box, e entry, limits Limits, left *int64) error {
	f, err := look(ctx, box, e, limits.Depth+1)
	var item *Item
	if err == nil {
		item, err = collect(ctx, box, f, limits, *left)
	}
	err = late(ctx, err)
	var no *refusal
	if errors.As(err, &no) {
		b.refuse(e.path, no.why)
		if no.final {
			b.aside = append(b.aside, f)
		}
		return nil
	}
	if err != nil {
		return err
	}
	*left -= f.size()
	b.Items = append(b.Items, item)
	return nil
}

// collect makes one item of at most left bytes.
func collect(ctx context.Context, box Box, f found, limits Limits, left int64) (*Item, error) {
	if err := permitted(f, limits); err != nil {
		return nil, err
	}
	if f.size() > left {
		return nil, &refusal{why: "stays in the outbox for the next time: with it, it would be more than " + Bytes(limits.Total) + " at once"}
	}
	tmp, err := os.CreateTemp(limits.Dir, "outbox-*")
	if err != nil {
		return nil, fmt.Errorf("make room for a file: %w", err)
	}
	defer tmp.Close()
	item := &Item{Path: tmp.Name(), source: f}
	if f.entry.isDir() {
		item.Name = shorten(CleanName(f.entry.path), maxName-len(archiveExt)) + archiveExt
		err = pack(ctx, box, f, tmp)
	} else {
		item.Name = CleanName(f.entry.path)
		err = fetchFile(ctx, box, f.entry, tmp)
	}
	if err == nil {
		err = item.examine(tmp)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return nil, err
	}
	return item, nil
}

// size is the bytes of all its files; of what is permitted it cannot overflow.
func (f found) size() int64 {
	if !f.entry.isDir() {
		return f.entry.size
	}
	var size int64
	for _, e := range f.within {
		if odd(e) == "" {
			size += e.size
		}
	}
	return size
}

// permitted decides by the listing alone whether something may be sent.
func permitted(f found, limits Limits) error {
	final := func(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...), true} }
	if !f.entry.isDir() {
		if why := odd(f.entry); why != "" {
			return final("%s", why)
		}
		if f.entry.size == 0 {
			return final("is empty")
		}
		if f.entry.size > limits.Item {
			return final("has %s; I send up to %s", Bytes(f.entry.size), Bytes(limits.Item))
		}
		return nil
	}
	if f.cut || len(f.within) > limits.Files {
		return final("holds more than I pack: up to %d files. Make an archive of it yourself", limits.Files)
	}
	left, files := limits.Item, 0
	for _, e := range f.within {
		if e.depth() > limits.Depth+1 {
			return final("has more than %d folders in each other", limits.Depth)
		}
		if odd(e) != "" {
			continue
		}
		if files++; e.size > left {
			return final("holds more than I send: up to %s", Bytes(limits.Item))
		}
		left -= e.size
	}
	if files == 0 {
		return final("holds no file that can be sent")
	}
	return nil
}

// odd says why a thing is not a file that can be sent, "" for one that can. A
// file with a second name is one that goes on changing elsewhere.
func odd(e entry) string {
	switch {
	case e.mode&modeType == modeLink:
		return "is a link; a copy of the file could be sent"
	case !e.isFile():
		return "is not a regular file"
	case e.link != 1:
		return "has other names too (a hard link); a copy of the file could be sent"
	}
	return ""
}
