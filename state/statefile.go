package state

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/disk"
)

// fileHistory bounds the turns of a room in state.json, in bytes: the newest ones, at least one.
const fileHistory = 64 << 10

// stateFile is what state.json says.
type stateFile struct {
	rooms   map[string]room
	read    func(ctx context.Context, id string) (string, error) // reads the history of a room that is not read
	unknown map[string]json.RawMessage                           // what this release does not know, byte for byte
	written time.Time                                            // zero if there is no file
}

// newer reports whether there is a file that is newer than a snapshot.
func (f stateFile) newer(snapshot time.Time) bool {
	return !snapshot.IsZero() && f.written.After(snapshot)
}

// errBroken means that state.json does not parse.
var errBroken = errors.New("not a state.json")

// readFile reads a state.json. The error is errBroken for one that is damaged, but not for one that cannot be read.
func readFile(path string) (f stateFile, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return f, err
	}
	if f, err = parse(data); err != nil {
		return f, fmt.Errorf("%w: %w", errBroken, err)
	}
	f.written = info.ModTime()
	return f, nil
}

// roomTexts are the keys of state.json that have a text for each room. Only files of earlier builds have the last
// three.
var roomTexts = map[string]func(*room) *string{
	"containers": func(r *room) *string { return &r.container },
	"volumes":    func(r *room) *string { return &r.volumes },
	"sessions":   func(r *room) *string { return &r.session },
	"resets":     func(r *room) *string { return &r.reset },
	"successors": func(r *room) *string { return &r.successor },
}

// parse reads state.json. Two more keys are only in files of earlier builds: packages, and executions, which the tasks
// have.
func parse(data []byte) (f stateFile, err error) {
	f.rooms = map[string]room{}
	if err := json.Unmarshal(data, &f.unknown); err != nil {
		return f, err
	}
	if f.unknown == nil {
		return f, errors.New("not a JSON object")
	}
	err = takeKey(f, "history", func(r *room, ts turns) { r.history = ts })
	err = errors.Join(err, takeKey(f, "packages", func(r *room, names []string) { r.packages = names }))
	for key, of := range roomTexts {
		err = errors.Join(err, takeKey(f, key, func(r *room, text string) { *of(r) = text }))
	}
	delete(f.unknown, "executions")
	for id, r := range f.rooms {
		for i, raw := range r.history { // decoded on demand: most rooms are quiet
			if !bytes.HasPrefix(raw, []byte("{")) {
				err = errors.Join(err, fmt.Errorf("turn %d of %s is not an object", i, id))
			}
		}
	}
	maps.DeleteFunc(f.rooms, func(_ string, r room) bool { return r.empty() })
	return f, err
}

// takeKey reads the value of a key, an object with a value for each room.
func takeKey[V any](f stateFile, key string, put func(*room, V)) error {
	text, ok := f.unknown[key]
	if !ok {
		return nil
	}
	delete(f.unknown, key)
	var values map[string]V
	if err := json.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	for id, value := range values {
		r := f.rooms[id]
		put(&r, value)
		f.rooms[id] = r
	}
	return nil
}

// writeTo writes the file: one line per room and turn, rooms in order, so that a person can read it and two versions
// can be compared.
func (f stateFile) writeTo(ctx context.Context, w io.Writer) (err error) {
	buf := bufio.NewWriterSize(w, 256<<10)
	buf.WriteString("{\n  \"containers\": ")
	writeObject(buf, f.rooms, func(_ string, r room) string { return quoted(r.container) })
	buf.WriteString(",\n  \"history\": ")
	writeObject(buf, f.rooms, func(id string, r room) (text string) {
		if err == nil {
			text, err = f.history(ctx, id, r)
		}
		return text
	})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(f.rooms)), func(r room) bool { return r.volumes != "" }) {
		buf.WriteString(",\n  \"volumes\": ")
		writeObject(buf, f.rooms, func(_ string, r room) string { return quoted(r.volumes) })
	}
	for _, key := range slices.Sorted(maps.Keys(f.unknown)) {
		fmt.Fprintf(buf, ",\n  %s: %s", disk.JSON(key), f.unknown[key])
	}
	buf.WriteString("\n}\n")
	return buf.Flush()
}

// history returns the history of a room in the file, "" if it has none.
func (f stateFile) history(ctx context.Context, id string, r room) (string, error) {
	if !r.unread {
		return r.history.newest(fileHistory).lines(), nil
	}
	text, err := f.read(ctx, id)
	if err != nil || text == "" || strings.HasPrefix(text, linesBegin) && len(text) <= fileHistory {
		return text, err
	}
	var all turns // of an earlier release, or too long
	err = readJSON(text, &all)
	return all.newest(fileHistory).lines(), err
}

// isAt reports whether a file has exactly what writeTo writes.
func (f stateFile) isAt(ctx context.Context, path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	rest := comparing{bufio.NewReaderSize(file, 256<<10)}
	if f.writeTo(ctx, rest) != nil {
		return false
	}
	_, err = rest.ReadByte()
	return errors.Is(err, io.EOF)
}

// comparing is a Writer that fails if something else is written than what it reads.
type comparing struct{ *bufio.Reader }

func (c comparing) Write(p []byte) (int, error) {
	there := make([]byte, len(p))
	if _, err := io.ReadFull(c.Reader, there); err != nil {
		return 0, err
	}
	if !bytes.Equal(there, p) {
		return 0, errors.New("it differs")
	}
	return len(p), nil
}

// writeObject writes an object with the JSON that value returns for each room, without the rooms for which that is "".
func writeObject(buf *bufio.Writer, rooms map[string]room, value func(id string, r room) string) {
	before, after := "{", "{}"
	for _, id := range slices.Sorted(maps.Keys(rooms)) {
		if text := value(id, rooms[id]); text != "" {
			fmt.Fprintf(buf, "%s\n    %s: %s", before, disk.JSON(id), text)
			before, after = ",", "\n  }"
		}
	}
	buf.WriteString(after)
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return string(disk.JSON(text))
}
