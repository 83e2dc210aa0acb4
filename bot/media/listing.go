package media

import (
	"strconv"
	"strings"
)

// entry is one line of a listing: what the container says about a file in its outbox.
type entry struct {
	path string // below the outbox, without "./" before it; any bytes but NUL
	meta string // stat's whole answer; a different one means a different file
	mode uint64 // type and permissions, in the kernel's encoding
	size int64
	link uint64 // number of hard links
}

// Types in entry.mode.
const (
	modeType = 0xf000
	modeFile = 0x8000
	modeDir  = 0x4000
	modeLink = 0xa000
)

func (e entry) isFile() bool { return e.mode&modeType == modeFile }
func (e entry) isDir() bool  { return e.mode&modeType == modeDir }

// depth is 1 for what is directly in the outbox.
func (e entry) depth() int { return 1 + strings.Count(e.path, "/") }

// metaFormat is the format for stat: mode, links, size, device and inode, seconds, and both times to the nanosecond.
const metaFormat = "%f %h %s %d:%i %Y %y|%z"

// lineFormat is the format of a listing's line. A path from find never contains "//", whatever the files are called, so
// "//" separates the parts.
const lineFormat = "//" + metaFormat + "//%n"

// parseListing reads a listing. It drops the last entry of a listing that was cut, and invalid entries.
func parseListing(out []byte, cut bool) (entries []entry) {
	parts := strings.Split(string(out), "//")
	for i := 1; i+1 < len(parts); i += 2 {
		last := i+3 > len(parts)
		name, whole := strings.CutSuffix(parts[i+1], "\n")
		if !whole || last && cut {
			break
		}
		if e, ok := parseEntry(parts[i], name); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// parseEntry parses the two halves of a line.
func parseEntry(meta, name string) (e entry, ok bool) {
	path, below := strings.CutPrefix(name, "./")
	if !below || path == "" || len(path) > maxPath || strings.ContainsRune(path, 0) {
		return e, false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return e, false
		}
	}
	e, ok = parseMeta(meta)
	e.path = path
	return e, ok
}

// parseMeta parses stat's answer.
func parseMeta(meta string) (e entry, ok bool) {
	fields := strings.Fields(meta)
	if len(fields) < 5 || len(meta) > 300 {
		return e, false
	}
	var errs [3]error
	e.meta = meta
	e.mode, errs[0] = strconv.ParseUint(fields[0], 16, 32)
	e.link, errs[1] = strconv.ParseUint(fields[1], 10, 63)
	e.size, errs[2] = strconv.ParseInt(fields[2], 10, 64)
	return e, errs == [3]error{} && e.size >= 0
}

// escape encodes any bytes for printf's %b.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < 0x80 && only(string(rune(c)), "-._/") {
			b.WriteByte(c)
		} else {
			b.WriteString(`\0` + strconv.FormatUint(0o1000+uint64(c), 8)[1:])
		}
	}
	return b.String()
}
