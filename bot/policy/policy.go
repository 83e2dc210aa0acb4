// Package policy holds what people decide by hand: policy.yaml, which says who may use the bot, when it answers and
// with which limits, and the pairing codes for new people.
//
// Decisions are pure functions; a thin layer around them reads and writes the two files in the state directory. The
// package never talks to a homeserver and knows nothing about podman.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Limits on the file.
const (
	MaxFile      = 1 << 20 // bytes
	MaxApprovals = 100     // of a room
	MaxPrefix    = 200     // bytes of one
	MaxPeople    = 1000    // entries of one list of people
	MaxWord      = 200     // bytes of a model's name, and of a persona file's
	MaxRooms     = 5       // of which one room reads the memory
)

// DefaultApprovals are the commands that need approval unless the file says otherwise.
var DefaultApprovals = []string{"git push", "gh pr create", "npm publish", "curl … | sh"}

// Room is the policy of one room.
type Room struct {
	// Approvals are prefixes of commands that need approval; empty means none.
	Approvals []string
	// Reply says which messages are answered; "" depends on the kind of room: see
	// [Reply.In].
	Reply Reply
	// Persona is a file in the state folder, as a clean relative path without ..; ""
	// means none. The file may be missing, or a link.
	Persona string
	// Model is the agent's model; "" means the one in the settings.
	Model string
	// Zone is the room's time zone; nil means the host's.
	Zone *time.Location
	// Timeout bounds one run of the agent, QuestionTimeout how long a question waits for an answer once it is in the
	// room; 0 means as in the settings.
	Timeout, QuestionTimeout time.Duration
	// Tokens is how many tokens of the model the room may use on one day; 0 means as in the settings.
	Tokens int64
	// MemoryFrom are the other rooms of which this room's tasks may use the memory.
	MemoryFrom []string
	// Schedule says who may schedule tasks; "" is ForAll.
	Schedule Who
	// Fresh says when the room's session is stale; what it does not set is as in the settings.
	Fresh Freshness
	// Proof is what needs an encrypted message here, in addition to the settings.
	Proof Proof

	allow []string // who is heard besides the owners; nil: as in the settings
	block []string // who is blocked: in all rooms, and in this one
}

// Policy is a parsed file. The zero value and nil mean that there is no file.
type Policy struct {
	defaults Room
	rooms    map[string]*Room
	said     map[string]section // as written, by room ID or defaults
}

// nothingSaid is the policy without a file.
var nothingSaid = Room{Approvals: DefaultApprovals}

// errTooLarge says that the file is larger than MaxFile.
var errTooLarge = fmt.Errorf("the file is larger than %d KiB", MaxFile>>10)

// Parse parses a policy file. The error is a sentence that names the line.
func Parse(data []byte) (*Policy, error) {
	if len(data) > MaxFile {
		return nil, errTooLarge
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, unreadable(data, err)
	}
	if len(file.Docs) > 1 {
		return nil, errors.New("more than one YAML document")
	}
	var found struct {
		Defaults map[string]any            `yaml:"defaults"`
		Rooms    map[string]map[string]any `yaml:"rooms"`
	}
	err = yaml.UnmarshalWithOptions(data, &found, yaml.Strict())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(data, err)
	}
	p := &Policy{defaults: nothingSaid, rooms: map[string]*Room{}, said: map[string]section{}}
	read := func(where string, found map[string]any, to *Room) error {
		s, key, err := newSection(found)
		if err == nil {
			p.said[where] = s
			key, err = s.over(to, where)
		}
		if err != nil {
			return fmt.Errorf("%s%w", lineOf(file, where, key), wrong(where, key, err))
		}
		return nil
	}
	if err := read(defaultsKey, found.Defaults, &p.defaults); err != nil {
		return nil, err
	}
	for _, room := range slices.Sorted(maps.Keys(found.Rooms)) {
		if !IsRoom(room) {
			return nil, fmt.Errorf("%srooms: %q is not a room ID; use one like !abc:example.org", lineOf(file, room, ""), room)
		}
		own := p.defaults
		if err := read(room, found.Rooms[room], &own); err != nil {
			return nil, err
		}
		p.rooms[room] = &own
	}
	return p, nil
}

// wrong is the error of a key in a section.
func wrong(where, key string, err error) error {
	if where != defaultsKey {
		where = "rooms: " + where
	}
	if known := settingOf(key); known != nil && known.limit {
		where += ": limits"
	}
	return fmt.Errorf("%s: %s: %w", where, key, err)
}

// lineOf returns "line 7: " for the place of a key in a section, or "" if it cannot be found.
func lineOf(file *ast.File, where, key string) string {
	at := (&yaml.PathBuilder{}).Root()
	if where != defaultsKey {
		at = at.Child("rooms")
	}
	if at = at.Child(where); key != "" {
		known := settingOf(key)
		if known != nil && known.limit {
			at = at.Child("limits")
		}
		at = at.Child(key)
	}
	node, err := at.Build().FilterFile(file)
	if err != nil || node == nil {
		return ""
	}
	return fmt.Sprintf("line %d: ", node.GetToken().Position.Line)
}

// bareID matches an unquoted ID, which YAML reads as something else.
var bareID = regexp.MustCompile(`(?m)(^|[\s\[{,])[!@][^!\s"']+:`)

// unreadable returns YAML's error in one line, with a hint about the likely mistake.
func unreadable(data []byte, err error) error {
	said := err.Error()
	var at yaml.Error
	if errors.As(err, &at) {
		said = fmt.Sprintf("line %d: %s", at.GetToken().Position.Line, at.GetMessage())
	}
	if bareID.Match(data) {
		said += `; put IDs in quotes, such as "@alice:example.org"`
	}
	return errors.New(said)
}

// IsRoom reports whether a name can be a room ID. Some room IDs contain no server.
func IsRoom(name string) bool {
	return len(name) > 1 && len(name) <= 255 && name[0] == '!' && isWord(name)
}

// misnamed matches the ID of a room of version 12 with a server: the ID is a hash and has none.
var misnamed = regexp.MustCompile(`^(![A-Za-z0-9_-]{43}):.+$`)

// Misnamed returns the names of rooms in the file that cannot be right, sorted.
func (p *Policy) Misnamed() []string {
	var all []string
	for room, s := range p.said {
		from, _ := s["memory_from"].([]string)
		all = append(append(all, room), from...)
	}
	all = slices.DeleteFunc(all, func(room string) bool { return !misnamed.MatchString(room) })
	slices.Sort(all)
	return slices.Compact(all)
}

// Models returns the models that rooms are set to, and the one for the others, each once: that of the settings unless
// the file says otherwise.
func (p *Policy) Models(settings string) []string {
	if p == nil {
		return []string{settings}
	}
	all := []string{cmp.Or(p.defaults.Model, settings)}
	for _, own := range p.rooms {
		all = append(all, cmp.Or(own.Model, settings))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Room returns the policy of a room.
func (p *Policy) Room(id string) Room { return *p.room(id) }

func (p *Policy) room(id string) *Room {
	if p == nil || p.rooms == nil {
		return &nothingSaid
	}
	if own := p.rooms[id]; own != nil {
		return own
	}
	return &p.defaults
}

// ownersOnly applies while there is a file that was never valid: it may block people, so only owners are heard.
func ownersOnly() *Policy {
	r := nothingSaid
	r.allow = []string{}
	return &Policy{defaults: r, rooms: map[string]*Room{}}
}
