package agent

import (
	"bytes"
	"regexp"
)

// fence is a line that opens or closes a code block; n is 0 if a line does neither.
type fence struct {
	char      byte
	n, indent int
	bare      bool // it can close
}

var fenceLine = regexp.MustCompile("^([ \t]*)((?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)$")

func fenceOf(raw []byte) fence {
	m := fenceLine.FindSubmatch(bytes.TrimRight(raw, " \t\r\n"))
	if m == nil || (m[3][0] == '`' && bytes.IndexByte(m[4], '`') >= 0) {
		return fence{}
	}
	indent := len(bytes.ReplaceAll(m[1], []byte("\t"), []byte("    "))) + len(m[2])
	return fence{char: m[3][0], n: len(m[3]), indent: indent, bare: len(m[4]) == 0 && len(m[2]) == 0}
}

func (f fence) closedBy(o fence) bool {
	return o.bare && o.char == f.char && o.n >= f.n && o.indent <= f.indent+3
}
