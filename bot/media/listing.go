package media

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// entry is one line of a listing: what the container says lies in its outbox.
type entry struct {
	path string // below the outbox, without "./" before it; any bytes but NUL
	meta string // all of stat's answer; another one means another file
	mode uint64 // the type and the permissions, as the kernel writes them
	size int64
	link uint64 // how many names it has
	time time.Time
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

// depth is 1 for what lies directly in the outbox.
func (e entry) depth() int { return 1 + strings.Count(e.path, "/") }

// metaFormat is what stat is to say of a file: mode, links, size, place, seconds,
// and both times to the nanosecond.
const metaFormat = "%f %h %s %d:%i %Y %y|%z"

// lineFormat is a listing's line. A path of find has no "//" in it, whatever the
// files are called: what stands between two of them is one thing.
const lineFormat = "//" + metaFormat + "//%n"

// parseListing reads a listing. The last entry of one that was cut is left out;
// so is what does not look like an entry.
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

// parseEntry reads one line's two halves.
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

// parseMeta reads what stat says.
func parseMeta(meta string) (e entry, ok bool) {
	fields := strings.Fields(meta)
	if len(fields) < 5 || len(meta) > 300 {
		return e, false
	}
	var errs [4]error
	e.meta = meta
	e.mode, errs[0] = strconv.ParseUint(fields[0], 16, 32)
	e.link, errs[1] = strconv.ParseUint(fields[1], 10, 63)
	e.size, errs[2] = strconv.ParseInt(fields[2], 10, 64)
	seconds, err := strconv.ParseInt(fields[4], 10, 64)
	if errs[3] = err; seconds < 0 || seconds >= 1<<33 {
		seconds = 0
	}
	e.time = time.Unix(seconds, 0)
	return e, errs == [4]error{} && e.size >= 0
}

// piece is a part of a file: the bytes from offset on, which is a multiple of
// block.
type piece struct {
	entry  entry
	offset int64
	length int64
}

// parsePieces reads an answer to a request for pieces: for each of them stat's
// word, its bytes, and stat's word again. It returns the bytes of as many pieces,
// from the first on, as are what was asked for; the first that is not has changed.
func parsePieces(out []byte, want []piece) (data [][]byte) {
	for _, p := range want {
		head := []byte(p.entry.meta + "\n")
		foot := append([]byte("\n"), head...)
		rest, ok := bytes.CutPrefix(out, head)
		if !ok || int64(len(rest)) < p.length || !bytes.HasPrefix(rest[p.length:], foot) {
			return data
		}
		data = append(data, rest[:p.length:p.length])
		out = rest[p.length:][len(foot):]
	}
	return data
}

// escape writes any bytes for printf's %b.
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
