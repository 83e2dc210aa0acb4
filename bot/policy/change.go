package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Values of Set with a special meaning.
const (
	valueDefault = "default" // removes the setting
	valueNone    = "none"    // an empty list, no persona, or the model of the settings
)

// Set changes a setting of a room, or of all rooms with room "" or "defaults". Lists of
// people and rooms are separated by commas or spaces, approvals by commas; none is an empty list,
// and default removes the line. The file is read again first, so manual changes are
// kept. On an [Error], nothing was changed; it says what would be valid.
func (s *Source) Set(room, key, value string) error {
	key = strings.TrimPrefix(strings.ToLower(key), "limits.")
	return s.change(room, func(_ *Policy, said section) error { return said.set(key, strings.TrimSpace(value)) })
}

func (s section) set(key, value string) error {
	is := settingOf(key)
	switch {
	case is == nil:
		return sayf("There is no setting %q. The settings are %s.", key, strings.Join(Keys, ", "))
	case value == "":
		return sayf("What should %s be? `%s` removes the setting.", key, valueDefault)
	case value == valueDefault:
		delete(s, key)
	case is.limit:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return sayf("%q is not a whole number, which %s needs.", value, key)
		}
		s[key] = n
	case is.list:
		s[key] = parts(key, value)
	case value == valueNone && key != "reply" && key != "require_encryption":
		s[key] = ""
	default:
		s[key] = value
	}
	return nil
}

// parts splits the value of a list.
func parts(key, value string) []string {
	list := []string{}
	if value == valueNone {
		return list
	}
	for _, part := range strings.FieldsFunc(value,
		func(r rune) bool { return r == ',' || r == '\n' || key != "approvals" && (r == ' ' || r == '\t') }) {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(list, part) {
			list = append(list, part)
		}
	}
	return list
}

// Allow lets a user, or everyone on a server with @*:server, be heard in a room, or in
// all rooms with room "" or "defaults". settings is the list in the settings: a new
// list in the file starts with the people heard so far. An identical block entry in the
// same section is removed; any other that matches is an [Error]. Allowing again changes
// nothing.
func (s *Source) Allow(user, room string, settings []string) error {
	if !IsEntry(user) {
		return noUser(user)
	}
	return s.change(room, func(p *Policy, said section) error {
		block, _ := said["block"].([]string)
		if slices.Contains(block, user) {
			block = without(block, user)
			said["block"] = block
		}
		rest := slices.Clone(block)
		if place(room) != defaultsKey {
			rest = append(rest, p.defaults.block...)
		}
		if i := slices.IndexFunc(rest, func(entry string) bool { return listHas([]string{entry}, user) }); i >= 0 {
			return sayf("That would not let %s in: the policy blocks %s, and blocking wins.", code(user), code(rest[i]))
		}
		list, own := said["allow"].([]string)
		if !own {
			list = settings
			if p.defaults.allow != nil && place(room) != defaultsKey {
				list = p.defaults.allow
			}
		}
		if !listHas(list, user) {
			said["allow"] = append(slices.Clone(list), user)
		}
		return nil
	})
}

// Block is the opposite of Allow. Owners are heard all the same: see [Decide].
func (s *Source) Block(user, room string) error {
	if !IsEntry(user) {
		return noUser(user)
	}
	return s.change(room, func(_ *Policy, said section) error {
		if list, _ := said["allow"].([]string); slices.Contains(list, user) {
			said["allow"] = without(list, user)
		}
		if list, _ := said["block"].([]string); !slices.Contains(list, user) {
			said["block"] = append(slices.Clone(list), user)
		}
		return nil
	})
}

// without returns a list without an entry. It leaves the list, which belongs to a policy, as it is.
func without(list []string, user string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(entry string) bool { return entry == user })
}

func noUser(user string) error {
	return sayf("%s is not a full user ID: use one like @alice:example.org, or @*:example.org for everyone on a server.",
		code(user))
}

// Reset removes everything the file says about a room, or about all rooms with room ""
// or "defaults".
func (s *Source) Reset(room string) error {
	return s.change(room, func(_ *Policy, said section) error { clear(said); return nil })
}

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

func inherit(data []byte, from, to string) ([]byte, error) {
	p, err := Parse(data)
	if err == nil && (len(p.said[from]) == 0 || len(p.said[to]) > 0) {
		return nil, nil
	}
	return edit(data, to, func(p *Policy, said section) error { maps.Copy(said, p.said[from]); return nil })
}

func (s *Source) change(room string, change func(p *Policy, said section) error) error {
	return s.write(func(data []byte) ([]byte, error) { return edit(data, place(room), change) })
}

func place(room string) string {
	if room == "" {
		return defaultsKey
	}
	return room
}

// write applies an edit to the current file, and repeats it if somebody else changed the file in the meantime.
func (s *Source) write(edit func(data []byte) ([]byte, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 3 {
		path := s.path
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target // a link to the file stays a link
		}
		before, _ := os.Stat(path)
		data, err := readBytes(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read policy: %w", err)
		}
		next, err := edit(data)
		if err != nil || next == nil {
			return err
		}
		if after, _ := os.Stat(path); (before == nil) != (after == nil) || after != nil && !sameFile(after, before) {
			continue
		}
		if err := writeBytes(path, next); err != nil {
			return fmt.Errorf("write policy: %w", err)
		}
		s.refresh()
		return nil
	}
	return sayf("policy.yaml was changed by someone else at the same time. Nothing was changed: try again.")
}
