// Package policy is policy.yaml: what people decide about rooms by hand. It is
// pure but for reading that one file, and knows neither Matrix nor podman.
package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// Bounds of what the file may say.
const (
	MaxFile      = 1 << 20 // bytes
	MaxApprovals = 100     // of a room
	MaxPrefix    = 200     // bytes of one
)

// DefaultApprovals are the commands that need a person's yes where the file
// says nothing.
var DefaultApprovals = []string{"git push", "gh pr create", "npm publish", "curl … | sh"}

// Room is what holds in one room.
type Room struct {
	// Approvals are beginnings of commands that need a person's yes; empty is
	// none.
	Approvals []string
}

// Policy is a file that was read. The zero value is no file.
type Policy struct {
	defaults Room
	rooms    map[string]Room
}

// file is policy.yaml as it is written.
type file struct {
	Defaults section            `yaml:"defaults"`
	Rooms    map[string]section `yaml:"rooms"`
}

// section is what can be said of all rooms, or of one; nil is nothing said.
type section struct {
	Approvals *[]string `yaml:"approvals"`
}

// Parse reads a policy file. The error is a sentence that names the place.
func Parse(data []byte) (*Policy, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("the file is larger than %d KiB", MaxFile>>10)
	}
	var f file
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the document")
	}
	p := &Policy{defaults: Room{Approvals: DefaultApprovals}, rooms: map[string]Room{}}
	if err := f.Defaults.over(&p.defaults, "defaults"); err != nil {
		return nil, err
	}
	for room, s := range f.Rooms {
		if !strings.HasPrefix(room, "!") {
			return nil, fmt.Errorf("rooms: %q is no room ID; one looks like !abc:example.org", room)
		}
		own := p.defaults
		if err := s.over(&own, "rooms: "+room); err != nil {
			return nil, err
		}
		p.rooms[room] = own
	}
	return p, nil
}

// over puts what the section says in the place of what r says.
func (s section) over(r *Room, where string) error {
	if s.Approvals == nil {
		return nil
	}
	list := *s.Approvals
	if len(list) > MaxApprovals {
		return fmt.Errorf("%s: approvals: more than %d", where, MaxApprovals)
	}
	for _, prefix := range list {
		if strings.TrimSpace(prefix) == "" || len(prefix) > MaxPrefix || strings.ContainsAny(prefix, "\n\r\x00") {
			return fmt.Errorf("%s: approvals: %q is no beginning of a command; one looks like git push", where, prefix)
		}
	}
	r.Approvals = list
	return nil
}

// Room is what holds in a room.
func (p *Policy) Room(id string) Room {
	if p == nil {
		return Room{Approvals: DefaultApprovals}
	}
	if own, ok := p.rooms[id]; ok {
		return own
	}
	return p.defaults
}
