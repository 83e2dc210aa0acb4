package media

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"matrix-tui/bot/text"
)

// rest says that what was not collected stays.
const rest = "The others stay in the outbox for next time"

// Collect copies the contents of the container's outbox to this side: regular files with a single link, and folders of
// such files as .tar.gz. It refuses everything else. Whatever exceeds the count or the total stays for next time, as
// does a file that is still being written. MarkSent moves away what was collected; until then it will be collected
// again. If there is no error, the caller closes the batch. An error means that the container could not be reached.
func Collect(parent context.Context, container Container, limits Limits) (*Batch, error) {
	limits = limits.orDefaults()
	b := new(Batch)
	entries, cut, err := list(parent, container, "", 1)
	switch {
	case errors.Is(err, errNoOutbox):
		return b, nil
	case errors.Is(err, errOddOutbox):
		b.refuse("outbox", "is not a regular folder, so I did not read it")
		return b, nil
	case err != nil:
		return nil, err
	}
	if len(entries) > 0 && limits.Begin != nil {
		if err := limits.Begin(parent); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(parent, collectTimeout)
	defer cancel()
	sortByPath(entries)
	left := limits.Total
	for _, e := range entries {
		if len(b.Items) == limits.Items || len(b.Refused) == limits.Items {
			b.refuse("", fmt.Sprintf("%s: I send up to %d at once, and a folder counts as one", rest, limits.Items))
			return b, nil
		}
		err := b.take(ctx, container, e, limits, &left)
		if err != nil && ctx.Err() != nil && parent.Err() == nil {
			b.refuse("", rest+": reading took too long")
			return b, nil
		}
		if err != nil {
			b.Close()
			return nil, err
		}
	}
	if cut {
		b.refuse("", rest)
	}
	return b, nil
}

// look lists the contents of a folder, or returns a file.
func look(ctx context.Context, container Container, e entry, levels int) (f found, err error) {
	f.entry, f.levels = e, levels
	if e.isDir() {
		f.within, f.cut, err = list(ctx, container, e.path, levels)
		sortByPath(f.within)
	}
	return f, err
}

func sortByPath(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
}

// refuse records something that is not sent.
func (b *Batch) refuse(name, why string) {
	if name != "" {
		name = CleanName(name)
	}
	b.Refused = append(b.Refused, Refusal{name, why})
}

// Refuse removes an item from the batch and deletes its temporary file, because it was not sent after all. MarkSent
// moves one that is refused for good out of the way; any other stays in the outbox.
func (b *Batch) Refuse(item *Item, why string, final bool) {
	b.Items = slices.DeleteFunc(b.Items, func(i *Item) bool { return i == item })
	b.refuse(item.Name, why)
	if final {
		b.aside = append(b.aside, item.source)
	}
	os.Remove(item.Path)
}

// refusal is an error for people that ends only one item. A final one will not go away by itself.
type refusal struct {
	why   string
	final bool
}

func (r *refusal) Error() string { return r.why }

// errChanged refuses something that has changed since it was listed.
var errChanged = &refusal{why: "changed while I was reading it; it stays in the outbox for next time"}

// take collects one file or folder, or refuses it.
func (b *Batch) take(ctx context.Context, container Container, e entry, limits Limits, left *int64) error {
	f, err := look(ctx, container, e, limits.Depth+1)
	var item *Item
	if err == nil {
		item, err = collect(ctx, container, f, limits, *left)
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
func collect(ctx context.Context, container Container, f found, limits Limits, left int64) (*Item, error) {
	if err := permitted(f, limits); err != nil {
		return nil, err
	}
	if f.size() > left {
		return nil, &refusal{why: "stays in the outbox for next time: together the files would exceed " +
			text.Size(limits.Total)}
	}
	tmp, err := os.CreateTemp(limits.Dir, "outbox-*")
	if err != nil {
		return nil, fmt.Errorf("create temporary file: %w", err)
	}
	defer tmp.Close()
	e, item := f.entry, &Item{Name: CleanName(f.entry.path), Path: tmp.Name(), source: f}
	if f.entry.isDir() {
		item.Name = shorten(item.Name, maxName-len(archiveExt)) + archiveExt
		e, err = pack(ctx, container, f, limits)
	}
	if err == nil {
		err = fetchFile(ctx, container, e, tmp)
	}
	if err == nil {
		err = item.examine(ctx, tmp, limits.Attempt)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return nil, err
	}
	return item, nil
}
