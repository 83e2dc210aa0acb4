package policy

import (
	"errors"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"
)

// Inherit copies what the file says about a room to its successor. It reports whether
// there was something to copy: a successor that the file mentions keeps its own policy.
// The old room keeps its policy, too.
func (s *Source) Inherit(from, to string) (inherited bool, err error) {
	err = s.write(func(data []byte) ([]byte, error) {
		next, err := inherit(data, from, to)
		inherited = next != nil
		return next, err
	})
	return inherited && err == nil, err
}

// CanInherit returns the error with which Inherit would fail because of the file's
// content. It changes nothing.
func (s *Source) CanInherit(from, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := readBytes(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = inherit(data, from, to)
	}
	if err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	return nil
}

// inherit returns the file with the copy, or nil if there is nothing to copy.
func inherit(data []byte, from, to string) ([]byte, error) {
	if _, err := Parse(data); err != nil {
		return nil, sayf("policy.yaml is invalid: %s.", err)
	}
	all, err := meaning(data)
	if err != nil || all[from] == nil || all[to] != nil {
		return nil, err
	}
	return edit(data, to, func(section *yaml.Node) error {
		var doc yaml.Node
		if err := yaml.Unmarshal(data, &doc); err != nil {
			return err
		}
		section.Content = valueAt(valueAt(doc.Content[0], "rooms"), from).Content
		return nil
	})
}
