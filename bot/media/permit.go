package media

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"matrix-tui/bot/text"
)

// found is a file or folder directly in the outbox, with everything in it.
type found struct {
	entry  entry
	within []entry
	cut    bool // it contains more
	levels int  // the depth of the listing
}

// sign stays the same as long as nothing in it changes.
func (f found) sign() string { return f.sum(func(e entry) string { return e.meta }) }

// identity identifies the file, or the folder and everything in it.
func (f found) identity() string { return f.sum(entry.identity) }

// sum hashes the paths in it and one property of each.
func (f found) sum(is func(entry) string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00%v\x00", f.entry.path, is(f.entry), f.cut)
	for _, e := range f.within {
		fmt.Fprintf(sum, "%s\x00%s\x00", e.path, is(e))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// size adds up the bytes of all its files; below the limits it cannot overflow.
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

// permitted decides from the listing alone whether something may be sent.
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
			return final("is %s; I send up to %s", text.Size(f.entry.size), text.Size(limits.Item))
		}
		return nil
	}
	if f.cut || len(f.within) > limits.Files {
		return final("contains more than the %d files that I pack. Create an archive yourself", limits.Files)
	}
	left, files := limits.Item, 0
	for _, e := range f.within {
		if e.depth() > limits.Depth+1 {
			return final("is nested more than %d folders deep", limits.Depth)
		}
		if odd(e) != "" {
			continue
		}
		if files++; e.size > left {
			return final("is larger than the %s that I send", text.Size(limits.Item))
		}
		left -= e.size
	}
	if files == 0 {
		return final("contains no file that can be sent")
	}
	return nil
}

// odd says why something is not a file that can be sent, "" if it can. A file with a
// second link may keep changing elsewhere.
func odd(e entry) string {
	switch {
	case e.mode&modeType == modeLink:
		return "is a symbolic link; copy the file to send it"
	case !e.isFile():
		return "is not a regular file"
	case e.link != 1:
		return "is a hard link; copy the file to send it"
	}
	return ""
}
