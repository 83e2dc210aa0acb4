package state

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// writeTo writes the file: one line per room, turn and execution, rooms in order, so that a person can read it and two
// versions can be compared.
func (c *contents) writeTo(w io.Writer) error {
	buf := bufio.NewWriterSize(w, 256<<10)
	buf.WriteString("{\n  \"containers\": ")
	writeObject(buf, c.containers, func(name string) { buf.Write(encodeJSON(name)) })
	buf.WriteString(",\n  \"history\": ")
	writeObject(buf, c.history, func(ts turns) { writeList(buf, ts) })
	buf.WriteString(",\n  \"sessions\": ")
	writeObject(buf, c.sessions, func(id string) { buf.Write(encodeJSON(id)) })
	if len(c.resets) > 0 {
		buf.WriteString(",\n  \"resets\": ")
		writeObject(buf, c.resets, func(token string) { buf.Write(encodeJSON(token)) })
	}
	if len(c.volumes) > 0 {
		buf.WriteString(",\n  \"volumes\": ")
		writeObject(buf, c.volumes, func(room string) { buf.Write(encodeJSON(room)) })
	}
	if len(c.successors) > 0 {
		buf.WriteString(",\n  \"successors\": ")
		writeObject(buf, c.successors, func(room string) { buf.Write(encodeJSON(room)) })
	}
	if len(c.packages) > 0 {
		buf.WriteString(",\n  \"packages\": ")
		writeObject(buf, c.packages, func(names []string) { buf.Write(encodeJSON(names)) })
	}
	if len(c.executions) > 0 {
		buf.WriteString(",\n  \"executions\": ")
		writeObject(buf, c.executions, func(es executions) { es.writeTo(buf) })
	}
	for _, m := range c.unknown {
		buf.WriteString(",\n  ")
		buf.Write(encodeJSON(m.key))
		buf.WriteString(": ")
		buf.Write(m.value)
	}
	buf.WriteString("\n}\n")
	return buf.Flush()
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
		buf.Write(encodeJSON(room))
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

// encodeJSON is json.Marshal without the escaping meant for web pages. The values passed here always encode.
func encodeJSON(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
