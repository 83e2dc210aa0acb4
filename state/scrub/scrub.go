// Package scrub takes texts out of what is stored: everything that has them, or the words that a later text replaces.
package scrub

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"matrix-tui/state/disk"
)

// Deleted is kept in place of what a redacted message said.
const Deleted = "(deleted)"

// Scrub changes texts from which something is to go.
type Scrub struct {
	change  func(text string) (string, bool)
	Needles []string // one of them is in each text that changes, and in JSON that has it

	Home, Event string // see Sparing
}

// Sparing is the Scrub for all but an event of the room home and its edits.
func (s *Scrub) Sparing(home, event string) *Scrub {
	out := *s
	out.Home, out.Event = home, event
	return &out
}

// Text returns a text as it is to be, and reports whether that has changed.
func (s *Scrub) Text(text string) (string, bool) { return s.change(text) }

// In reports whether a file or JSON may have a text that changes.
func (s *Scrub) In(data []byte) bool {
	return slices.ContainsFunc(s.Needles, func(needle string) bool { return bytes.Contains(data, []byte(needle)) })
}

// maxNeedles bounds the terms of a query.
const maxNeedles = 50

// Where returns a condition for the rows in which an expression may have a text that changes, with its arguments.
func (s *Scrub) Where(expr string) (condition string, args []any) {
	if len(s.Needles) > maxNeedles {
		return "", nil
	}
	for _, needle := range s.Needles {
		args = append(args, needle)
	}
	return " AND (" + strings.Join(slices.Repeat([]string{"instr(" + expr + ", ?)"}, len(args)), " OR ") + ")", args
}

// Needle returns the longest part of a text that is the same in JSON, and where white space has become a blank.
func Needle(text string) (longest string) {
	parts := strings.FieldsFunc(strings.ReplaceAll(text, "  ", "\n"), func(r rune) bool {
		return r != ' ' && !unicode.IsPrint(r) || strings.ContainsRune("\"\\<>&\uFFFD", r)
	})
	for _, part := range parts {
		if part = strings.TrimSpace(part); len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// Without is a Scrub that empties every text that contains one of some others. White space and letter case do not
// count.
func Without(texts ...string) *Scrub {
	var wanted []string
	for _, text := range texts {
		if text = Plain(text); text != "" {
			wanted = append(wanted, text)
		}
	}
	out := &Scrub{change: func(text string) (string, bool) {
		text = strings.ToLower(strings.Join(strings.Fields(text), " "))
		for _, one := range wanted {
			if strings.Contains(text, one) {
				return Deleted, true
			}
		}
		return "", false
	}}
	if len(wanted) > 0 {
		out.Needles = []string{""} // in all
	}
	return out
}

// leastReplaced is the shortest text, in bytes, that is replaced: many say "yes".
const leastReplaced = 12

// Replacing is a Scrub that puts a text in the place of others, also where they are on one line. Short ones stay.
func Replacing(is string, were ...string) *Scrub {
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	were = slices.DeleteFunc(slices.Clone(were), func(was string) bool { return len(was) < leastReplaced || was == is })
	out := &Scrub{change: func(text string) (string, bool) {
		out := text
		for _, was := range were {
			if text == was {
				return is, true
			}
			out = swap(swap(out, was, is), oneLine(was), oneLine(is))
		}
		return out, out != text
	}}
	for _, was := range were {
		out.Needles = append(out.Needles, Needle(was))
	}
	return out
}

// swap replaces a text by another one, but not where that is already: it may have the first one in it.
func swap(text, was, is string) string {
	if is == "" {
		return strings.ReplaceAll(text, was, is)
	}
	return strings.NewReplacer(is, is, was, is).Replace(text)
}

// textKeys are the keys under which JSON of ours has what somebody said or did. Others have identifiers.
var textKeys = func() map[string]bool {
	all := map[string]bool{}
	for _, key := range strings.Fields("answer answers around body caption command commands content current_question " +
		"detail error error_message " +
		"formatted_body html name output question question_context result said status_line summary text topics transcript " +
		"why words") {
		all[key] = true
	}
	return all
}()

// JSON scrubs the texts in JSON, and returns those that it has changed.
func JSON(data []byte, scrub *Scrub) (out []byte, was []string, err error) {
	if !scrub.In(data) {
		return data, nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return data, nil, err
	}
	var walk func(value any, words bool) any
	walk = func(value any, words bool) any {
		switch v := value.(type) {
		case string:
			if out, hit := scrub.Text(v); words && hit && v != Deleted {
				was = append(was, v)
				return out
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], words)
			}
		case map[string]any:
			for key := range v {
				v[key] = walk(v[key], textKeys[key])
			}
		}
		return value
	}
	if value = walk(value, false); len(was) == 0 {
		return data, nil, nil
	}
	return disk.JSON(value), was, nil
}

// Plain returns a text as it is compared: white space, letter case and the marks of a list do not count.
func Plain(text string) string {
	text = strings.TrimLeft(strings.TrimSpace(text), "-*+•# \t")
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}
