package policy

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxTokens is the largest limit of tokens per day.
const MaxTokens = 1_000_000_000_000

// section is what the file says about all rooms, or about one: by key, without limits in between. A value is a
// string, an int64 or a []string.
type section map[string]any

// setting is one key that a section may have.
type setting struct {
	key   string
	limit bool // under limits: a whole number
	list  bool
	apply func(r *Room, value any) error
	show  func(r *Room) string
}

// settings are all of them, in the order in which they are shown.
var settings = []setting{
	list("allow", func(r *Room, value []string) error {
		r.allow = value
		return checkPeople(value)
	}, func(r *Room) string {
		if r.allow == nil {
			return "as in MATRIX_ALLOW"
		}
		return shown(r.allow, "owners only")
	}),
	list("block", func(r *Room, value []string) error { // those of all rooms are blocked in each
		r.block = slices.Concat(r.block, value)
		return checkPeople(value)
	}, func(r *Room) string { return shown(r.block, "nobody") }),
	word("reply", func(r *Room, value string) error {
		r.Reply = Reply(value)
		return oneOf(r.Reply, replies)
	}, func(r *Room) string {
		if r.Reply == "" {
			return fmt.Sprintf("`%s` in a room of two, `%s` in larger ones", Reply("").In(true), Reply("").In(false))
		}
		return code(string(r.Reply))
	}),
	word("persona", func(r *Room, value string) error {
		if r.Persona = value; value != "" && !isPersona(value) {
			return fmt.Errorf("%q is not a text file in the state folder; use one like personas/pirate.md", value)
		}
		return nil
	}, func(r *Room) string { return orElse(r.Persona, "none") }),
	word("model", func(r *Room, value string) error {
		if r.Model = value; value != "" && (len(value) > MaxWord || !isWord(value) || value[0] == '-') {
			return fmt.Errorf("%q is not a model name; use auto, pro, flash, or one like gemini-3.7-flash", value)
		}
		return nil
	}, func(r *Room) string { return orElse(r.Model, asSet) }),
	word("timezone", func(r *Room, value string) (err error) {
		r.Zone, err = Zone(value)
		return err
	}, func(r *Room) string {
		if r.Zone == nil {
			return "as on the bot's host"
		}
		return code(r.Zone.String())
	}),
	limit("timeout_seconds", 1, maxMinutes*60, func(r *Room, n int64) { r.Timeout = time.Duration(n) * time.Second },
		func(r *Room) string { return number(int64(r.Timeout / time.Second)) }),
	limit("question_minutes", 1, maxMinutes, func(r *Room, n int64) { r.QuestionTimeout = time.Duration(n) * time.Minute },
		func(r *Room) string { return number(int64(r.QuestionTimeout / time.Minute)) }),
	limit("tokens_per_day", 1, MaxTokens, func(r *Room, n int64) { r.Tokens = n },
		func(r *Room) string { return number(r.Tokens) }),
	limit("session_daily_hour", NoHour, 23, func(r *Room, n int64) { r.Fresh.Hour = new(int(n)) },
		func(r *Room) string { return orNever(r.Fresh.Hour, NoHour, 1) }),
	limit("session_idle_minutes", 0, 365*24*60, func(r *Room, n int64) {
		r.Fresh.Idle = new(time.Duration(n) * time.Minute)
	}, func(r *Room) string { return orNever(r.Fresh.Idle, 0, time.Minute) }),
	list("approvals", func(r *Room, value []string) error {
		r.Approvals = value
		return each(value, MaxApprovals, "commands", func(prefix string) bool {
			return strings.TrimSpace(prefix) != "" && len(prefix) <= MaxPrefix && !strings.ContainsAny(prefix, "\n\r\x00")
		}, "the beginning of a command; use one like git push")
	}, func(r *Room) string { return shown(r.Approvals, "none") }),
	word("schedule", func(r *Room, value string) error {
		r.Schedule = Who(value)
		return oneOf(r.Schedule, whos)
	}, func(r *Room) string { return orElse(string(r.Schedule), string(ForAll)) }),
	list("memory_from", func(r *Room, value []string) error {
		r.MemoryFrom = value
		return each(value, MaxRooms, "rooms", IsRoom, "a room ID; use one like !abc:example.org")
	}, func(r *Room) string { return shown(r.MemoryFrom, "no other room") }),
	word("require_encryption", func(r *Room, value string) error {
		r.Proof = Proof(value)
		return oneOf(r.Proof, proofs)
	}, func(r *Room) string { return orElse(string(r.Proof), asSet) }),
}

// Keys are the keys for Set, in the order in which they are shown.
var Keys = func() (keys []string) {
	for _, s := range settings {
		keys = append(keys, s.key)
	}
	return keys
}()

const maxMinutes = 30 * 24 * 60

// settingOf returns the setting with a key, or nil.
func settingOf(key string) *setting {
	if i := slices.Index(Keys, key); i >= 0 {
		return &settings[i]
	}
	return nil
}

func word(key string, apply func(*Room, string) error, show func(*Room) string) setting {
	return setting{key: key, show: show, apply: func(r *Room, value any) error {
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%v is not a text; put it in quotes", value)
		}
		return apply(r, text)
	}}
}

func list(key string, apply func(*Room, []string) error, show func(*Room) string) setting {
	return setting{key: key, list: true, show: show, apply: func(r *Room, value any) error {
		list, ok := value.([]string)
		if !ok {
			return fmt.Errorf("%v is not a list of texts; write [] for none, or texts in quotes, each in a line after -", value)
		}
		return apply(r, list)
	}}
}

func limit(key string, least, most int64, apply func(*Room, int64), show func(*Room) string) setting {
	return setting{key: key, limit: true, show: show, apply: func(r *Room, value any) error {
		n, ok := value.(int64)
		if !ok || n < least || n > most {
			return fmt.Errorf("%v is not a whole number from %d to %d", value, least, most)
		}
		apply(r, n)
		return nil
	}}
}

func oneOf[T ~string](value T, all []T) error {
	if slices.Contains(all, value) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s", value, strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]"))
}

func each(list []string, most int, what string, fits func(string) bool, right string) error {
	if len(list) > most {
		return fmt.Errorf("more than %d %s", most, what)
	}
	for _, entry := range list {
		if !fits(entry) {
			return fmt.Errorf("%q is not %s", entry, right)
		}
	}
	return nil
}

// newSection reads what YAML has found. The key of an error is the one that is wrong.
func newSection(found map[string]any) (s section, key string, err error) {
	s = section{}
	limits, ok := found["limits"].(map[string]any)
	if found["limits"] != nil && !ok {
		err := fmt.Errorf("%v is not a group of settings; use one like {timeout_seconds: 600}", found["limits"])
		return nil, "limits", err
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if known := settingOf(key); key != "limits" && (known == nil || known.limit) {
			return nil, key, fmt.Errorf("not a setting; they are %s and limits", strings.Join(Keys, ", "))
		} else if key == "allow" && found[key] == nil { // removing all entries must not let everybody in
			return nil, key, errors.New("the value is missing; use [] for owners only, or remove the line to use MATRIX_ALLOW")
		} else if key != "limits" && found[key] != nil {
			s[key] = plain(found[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		if known := settingOf(key); known == nil || !known.limit {
			return nil, key, errors.New("not one of the limits")
		} else if limits[key] != nil {
			s[key] = plain(limits[key])
		}
	}
	return s, "", nil
}

// plain turns whole numbers into int64 and lists of texts into []string; other values stay.
func plain(value any) any {
	switch v := value.(type) {
	case uint64:
		return int64(min(v, math.MaxInt64))
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	case []any:
		list := []string{}
		for _, entry := range v {
			text, ok := entry.(string)
			if !ok {
				return value
			}
			list = append(list, text)
		}
		return list
	}
	return value
}

// over applies the section on top of r. The key of an error is the one that is wrong.
func (s section) over(r *Room, where string) (key string, err error) {
	for _, one := range settings {
		value, said := s[one.key]
		if said && one.key == "memory_from" && where == defaultsKey {
			return one.key, errors.New("only a room can have it") // nothing crosses rooms by default
		}
		if said {
			if err := one.apply(r, value); err != nil {
				return one.key, err
			}
		}
	}
	return "", nil
}

// isPersona limits personas to text files: nothing else in the state folder, which contains keys and tokens, may get
// into a prompt.
func isPersona(name string) bool {
	return len(name) <= MaxWord && isGraphic(name) && !strings.Contains(name, `\`) &&
		name == path.Clean(name) && !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../") &&
		!strings.HasPrefix(path.Base(name), ".") && (path.Ext(name) == ".md" || path.Ext(name) == ".txt")
}

// isWord reports whether s contains neither white space nor invisible characters.
func isWord(s string) bool { return isGraphic(s) && !strings.ContainsFunc(s, unicode.IsSpace) }

// isGraphic reports whether all of s is visible, or a plain space.
func isGraphic(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
