package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Keys are the keys for Set, in the order in which they are shown.
var Keys = []string{"allow", "block", "reply", "persona", "model", "timezone", "timeout_seconds", "question_minutes", "tokens_per_day", "session_daily_hour", "session_idle_minutes", "approvals", "memory_from", "require_encryption"}

// limitKeys are those under limits: whole numbers.
var limitKeys = []string{"timeout_seconds", "question_minutes", "tokens_per_day", "session_daily_hour", "session_idle_minutes"}

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
	if !slices.Contains(Keys, key) {
		return sayf("There is no setting %q. The settings are %s.", key, strings.Join(Keys, ", "))
	}
	value = strings.TrimSpace(value)
	return s.change(room, func(_ *Policy, where string, section *yaml.Node) error { return set(section, key, value) })
}

func set(section *yaml.Node, key, value string) error {
	limit := slices.Contains(limitKeys, key)
	switch {
	case value == "":
		return sayf("What should %s be? `%s` removes the setting.", key, valueDefault)
	case limit && value == valueDefault:
		if limits := valueAt(section, "limits"); limits != nil && limits.Kind == yaml.MappingNode {
			removeAt(limits, key)
			if len(limits.Content) == 0 {
				removeAt(section, "limits")
			}
		}
	case value == valueDefault:
		removeAt(section, key)
	case limit:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return sayf("%q is not a whole number, which %s needs.", value, key)
		}
		putAt(mappingAt(section, "limits"), key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(n, 10)})
	case slices.Contains([]string{"allow", "block", "approvals", "memory_from"}, key):
		putList(section, key, parts(key, value))
	case value == valueNone && key != "reply" && key != "require_encryption":
		putAt(section, key, scalar("", yaml.DoubleQuotedStyle))
	default:
		putAt(section, key, scalar(value, quoting(value)))
	}
	return nil
}

// parts splits the value of a list.
func parts(key, value string) []string {
	list := []string{}
	if value == valueNone {
		return list
	}
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '\n' || key != "approvals" && (r == ' ' || r == '\t') }) {
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
	if !isEntry(user) {
		return noUser(user)
	}
	return s.change(room, func(p *Policy, where string, section *yaml.Node) error {
		block := listAt(section, "block")
		if slices.Contains(block, user) {
			block = slices.DeleteFunc(block, func(entry string) bool { return entry == user })
			putList(section, "block", block)
		}
		rest := slices.Clone(block)
		if where != defaultsKey {
			for _, list := range p.defaults.block {
				rest = append(rest, list.list...)
			}
		}
		if i := slices.IndexFunc(rest, func(entry string) bool { return listHas([]string{entry}, user) }); i >= 0 {
			return sayf("That would not let %s in: the policy blocks %s, and blocking wins.", code(user), code(rest[i]))
		}
		list := listAt(section, "allow")
		if list == nil {
			list = settings
			if p.defaults.allow != nil && where != defaultsKey {
				list = p.defaults.allow.list
			}
			if listHas(list, user) {
				return nil
			}
		}
		if !listHas(list, user) {
			putList(section, "allow", append(slices.Clone(list), user))
		}
		return nil
	})
}

// Block is the opposite of Allow. Owners are heard all the same: see [Decide].
func (s *Source) Block(user, room string) error {
	if !isEntry(user) {
		return noUser(user)
	}
	return s.change(room, func(_ *Policy, _ string, section *yaml.Node) error {
		if list := listAt(section, "allow"); slices.Contains(list, user) {
			putList(section, "allow", slices.DeleteFunc(list, func(entry string) bool { return entry == user }))
		}
		if list := listAt(section, "block"); !slices.Contains(list, user) {
			putList(section, "block", append(list, user))
		}
		return nil
	})
}

func noUser(user string) error {
	return sayf("%s is not a full user ID: use one like @alice:example.org, or @*:example.org for everyone on a server.", code(user))
}

// Reset removes everything the file says about a room, or about all rooms with room ""
// or "defaults".
func (s *Source) Reset(room string) error {
	return s.write(func(data []byte) ([]byte, error) { return reset(data, place(room)) })
}

func (s *Source) change(room string, change func(p *Policy, where string, section *yaml.Node) error) error {
	where := place(room)
	return s.write(func(data []byte) ([]byte, error) {
		p, _ := Parse(data) // edit says what is wrong
		return edit(data, where, func(section *yaml.Node) error { return change(p, where, section) })
	})
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
