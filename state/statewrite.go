package state

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"

	"matrix-tui/state/disk"
)

// fileHistory bounds the turns of a room in state.json, in bytes: the newest ones, at least one.
const fileHistory = 64 << 10

// writeTo writes the file: one line per room and turn, rooms in order, so that a person can read it and two versions
// can be compared.
func (c *contents) writeTo(w io.Writer) error {
	buf := bufio.NewWriterSize(w, 256<<10)
	buf.WriteString("{\n  \"containers\": ")
	writeObject(buf, c.containers, func(name string) { buf.Write(disk.JSON(name)) })
	buf.WriteString(",\n  \"history\": ")
	writeObject(buf, c.history, func(ts turns) { writeList(buf, ts.newest(fileHistory)) })
	if len(c.volumes) > 0 {
		buf.WriteString(",\n  \"volumes\": ")
		writeObject(buf, c.volumes, func(room string) { buf.Write(disk.JSON(room)) })
	}
	for _, m := range c.unknown {
		buf.WriteString(",\n  ")
		buf.Write(disk.JSON(m.key))
		buf.WriteString(": ")
		buf.Write(m.value)
	}
	buf.WriteString("\n}\n")
	return buf.Flush()
}

// newest returns the newest turns that fit in limit bytes, at least one.
func (ts turns) newest(limit int) turns {
	from := len(ts)
	for size := 0; from > 0 && (from == len(ts) || size+len(ts[from-1]) <= limit); from-- {
		size += len(ts[from-1])
	}
	return ts[from:]
}

func writeObject[V any](buf *bufio.Writer, m map[string]V, value func(V)) {
	rooms := make([]string, 0, len(m))
	for room := range m {
		rooms = append(rooms, room)
	}
	slices.Sort(rooms)
	buf.WriteString("{")
	for i, room := range rooms {
		if i > 0 {
			buf.WriteString(",")
		}
		buf.WriteString("\n    ")
		buf.Write(disk.JSON(room))
		buf.WriteString(": ")
		value(m[room])
	}
	if len(rooms) > 0 {
		buf.WriteString("\n  ")
	}
	buf.WriteString("}")
}

func writeList(buf *bufio.Writer, raws []json.RawMessage) {
	buf.WriteString("[")
	for i, raw := range raws {
		if i > 0 {
			buf.WriteString(",")
		}
		buf.WriteString("\n      ")
		buf.Write(raw)
	}
	if len(raws) > 0 {
		buf.WriteString("\n    ")
	}
	buf.WriteString("]")
}
