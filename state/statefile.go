package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// contents is what is known of all rooms. Its maps are replaced, never shared with a caller; the values in them are
// never changed in place.
type contents struct {
	containers map[string]string
	history    map[string]turns
	sessions   map[string]string
	resets     map[string]string // room: stands for the last end of its session
	volumes    map[string]string // room: the room whose volumes it uses
	successors map[string]string // room: the room that replaced it
	packages   map[string][]string
	unknown    []member        // of state.json, in the order of the file
	changed    map[string]bool // rooms whose rows are to be written
}

// member is a top-level key that this release does not know, with its value
// byte for byte.
type member struct {
	key   string
	value json.RawMessage
}

func newContents() *contents {
	return &contents{
		containers: map[string]string{},
		history:    map[string]turns{},
		sessions:   map[string]string{},
		resets:     map[string]string{},
		volumes:    map[string]string{},
		successors: map[string]string{},
		packages:   map[string][]string{},
		changed:    map[string]bool{},
	}
}

// read reads the file at path. It distinguishes a damaged file from one that could not be read to its end.
func read(path string) (c *contents, broken, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	source := &failing{from: file}
	c, broken = parse(source)
	return c, broken, source.err
}

// failing remembers the read error.
type failing struct {
	from io.Reader
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// parse reads state.json room by room: the file may be large, and nothing of it is held in memory twice.
func parse(r io.Reader) (*contents, error) {
	c := newContents()
	dec := json.NewDecoder(r)
	dec.UseNumber() // an unknown number is kept as it is written
	if tok, err := dec.Token(); err != nil {
		return nil, err
	} else if tok != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		if err := c.set(tok.(string), dec); err != nil {
			return nil, fmt.Errorf("key %q: %w", tok, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return c, nil
}

// set reads the value of a key, which comes next in dec.
func (c *contents) set(key string, dec *json.Decoder) error {
	switch key {
	case "containers":
		return decodeMap(dec, &c.containers)
	case "volumes":
		return decodeMap(dec, &c.volumes)
	// The keys from here to "executions" are those of earlier releases: see importTables.
	case "sessions":
		return decodeMap(dec, &c.sessions)
	case "resets":
		return decodeMap(dec, &c.resets)
	case "successors":
		return decodeMap(dec, &c.successors)
	case "packages":
		return decodeMap(dec, &c.packages)
	case "executions": // the tasks have them
		var old json.RawMessage
		return dec.Decode(&old)
	case "history":
		if err := decodeMap(dec, &c.history); err != nil {
			return err
		}
		for room, ts := range c.history {
			for i, raw := range ts { // decoded on demand: most rooms are quiet
				if !bytes.HasPrefix(raw, []byte("{")) {
					return fmt.Errorf("turn %d of %s is not an object", i, room)
				}
			}
		}
		return nil
	}
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return err
	}
	c.unknown = slices.DeleteFunc(c.unknown, func(m member) bool { return m.key == key })
	c.unknown = append(c.unknown, member{key, value})
	return nil
}

// decodeMap reads an object, or null as an empty one.
func decodeMap[V any](dec *json.Decoder, into *map[string]V) error {
	m := map[string]V{}
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	if tok != nil {
		if tok != json.Delim('{') {
			return errors.New("not a JSON object")
		}
		if err := decodeMembers(dec, m); err != nil {
			return err
		}
	}
	*into = m
	return nil
}

// decodeMembers reads an object after its opening brace.
func decodeMembers[V any](dec *json.Decoder, into map[string]V) error {
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var value V
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		into[key.(string)] = value
	}
	_, err := dec.Token()
	return err
}

// projection returns what state.json contains: containers, conversations, bounded, whose volumes upgraded rooms use,
// and the keys that are not ours. It stays the same while the original changes.
func (c *contents) projection() *contents {
	return &contents{containers: maps.Clone(c.containers), history: maps.Clone(c.history), volumes: maps.Clone(c.volumes),
		unknown: c.unknown}
}

// takeNewer takes over a state.json that is newer than these contents, which are from a snapshot. Turns that the file
// has no space for stay. All sessions end: somebody may have ended them since, and they would know what was deleted.
func (c *contents) takeNewer(file *contents) {
	rooms := c.rooms()
	maps.Copy(rooms, file.rooms())
	for room := range rooms {
		c.endSession(room)
		put(c.containers, room, file.containers[room])
		put(c.volumes, room, file.volumes[room])
		newest := file.history[room]
		there := map[string]bool{}
		for _, raw := range newest {
			there[turnKey(raw)] = true
		}
		older := slices.DeleteFunc(slices.Clone(c.history[room]),
			func(raw json.RawMessage) bool { return there[turnKey(raw)] })
		if delete(c.history, room); len(newest) > 0 {
			c.history[room] = append(older, newest...).window()
		}
		c.changed[room] = true
	}
}

// turnKey identifies a turn in a list: by its event, or else by all of it.
func turnKey(raw json.RawMessage) string {
	var t Turn
	if json.Unmarshal(raw, &t) == nil && t.key() != "" {
		return t.key()
	}
	return string(raw)
}
