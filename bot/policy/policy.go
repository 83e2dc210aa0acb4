// Package policy is what people decide by hand: policy.yaml, which says who is
// heard, when the bot answers and with what limits, and the pairing codes that
// let unknown people in. What decides is pure; the thin edge reads and writes
// those two files of the state folder. It speaks to no homeserver and knows
// nothing of podman.
package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Bounds of what the file may say.
const (
	MaxFile      = 1 << 20 // bytes
	MaxApprovals = 100     // of a room
	MaxPrefix    = 200     // bytes of one
	MaxPeople    = 1000    // entries of one list of people
	MaxWord      = 200     // bytes of a model's name, and of a persona file's
)

// DefaultApprovals are the commands that need a person's yes where the file
// says nothing.
var DefaultApprovals = []string{"git push", "gh pr create", "npm publish", "curl … | sh"}

// Room is what holds in one room.
type Room struct {
	// Approvals are beginnings of commands that need a person's yes; empty is
	// none.
	Approvals []string
	// Reply is which messages are answered; "" leaves it to the kind of room:
	// see [Reply.In].
	Reply Reply
	// Persona is a file of the state folder, as a clean relative path with no
	// .. in it; "" is none. What it names may be missing, or a link.
	Persona string
	// Model is the agent's model, "" for the one of the settings.
	Model string
	// Timeout is of one run of the agent, QuestionTimeout of a question from
	// when it is in the room; 0 is what the settings say.
	Timeout, QuestionTimeout time.Duration

	allow *people   // who is heard besides the owners; nil is who the settings say
	block []*people // who is not: of all rooms, and of this one
}

// Policy is a file that was read. The zero value, and nil, is no file.
type Policy struct {
	defaults Room
	rooms    map[string]*Room
	said     file // as it was written
}

// nothingSaid is what holds where the file says nothing.
var nothingSaid = Room{Approvals: DefaultApprovals}

// file is policy.yaml as it is written.
type file struct {
	Defaults section            `yaml:"defaults"`
	Rooms    map[string]section `yaml:"rooms"`
}

// Parse reads a policy file. The error is a sentence that names the place.
func Parse(data []byte) (*Policy, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("the file is larger than %d KiB", MaxFile>>10)
	}
	p := &Policy{defaults: nothingSaid, rooms: map[string]*Room{}}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&p.said); err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(data, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	if err := p.said.Defaults.over(&p.defaults, "defaults"); err != nil {
		return nil, err
	}
	for room, s := range p.said.Rooms {
		if !isRoom(room) {
			return nil, fmt.Errorf("rooms: %q is not a room ID; use one like !abc:example.org", room)
		}
		own := p.defaults
		if err := s.over(&own, "rooms: "+room); err != nil {
			return nil, err
		}
		p.rooms[room] = &own
	}
	return p, nil
}

// bareID finds what YAML reads as something else than an ID.
var bareID = regexp.MustCompile(`(?m)(^|[\s\[{,])[!@][^!\s"']+:`)

// unreadable is what YAML says of a file, and the mistake that is likely.
func unreadable(data []byte, err error) error {
	said := strings.TrimPrefix(err.Error(), "yaml: ")
	if bareID.Match(data) {
		said += `; put IDs in quotes, such as "@alice:example.org"`
	}
	return errors.New(said)
}

// isRoom tells whether a name can be a room's ID. Some have no server in them.
func isRoom(name string) bool {
	return len(name) > 1 && len(name) <= 255 && name[0] == '!' && isWord(name)
}

// Room is what holds in a room.
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

// ownersOnly is what holds while there is a file that was never right: nobody
// whom it may have blocked is heard.
func ownersOnly() *Policy {
	r := nothingSaid
	r.allow = &people{}
	return &Policy{defaults: r, rooms: map[string]*Room{}}
}
