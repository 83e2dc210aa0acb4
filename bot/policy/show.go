package policy

import (
	"fmt"
	"strings"

	"matrix-tui/state/clean"
)

// maxShown is how many entries of a list are shown.
const maxShown = 20

// Show lists in Markdown the settings that apply in a room, and where each is set; room "" or "defaults" means all
// rooms.
func (s *Source) Show(room string) string {
	text := s.Now().Show(room)
	if err := s.Err(); err != nil {
		text += fmt.Sprintf("\npolicy.yaml is invalid, so these settings stay in force until it is fixed: %s\n",
			code(err.Error()))
	}
	return text
}

// Show is [Source.Show] for a policy.
func (p *Policy) Show(room string) string {
	var out strings.Builder
	r, said := p.room(room), map[string]section{}
	if p != nil {
		said = p.said
	}
	var own section
	if where := place(room); where == defaultsKey {
		fmt.Fprintf(&out, "**All rooms** (%d have settings of their own)\n\n", max(0, len(said)-1))
	} else {
		own = said[room]
		fmt.Fprintf(&out, "**This room**, %s\n\n", code(room))
	}
	for _, s := range settings {
		from := "default"
		_, here := own[s.key]
		_, all := said[defaultsKey][s.key]
		switch {
		case here && all && s.key == "block":
			from = "this room and all rooms"
		case here:
			from = "this room"
		case all:
			from = "all rooms"
		}
		fmt.Fprintf(&out, "- `%s`: %s (%s)\n", s.key, s.show(r), from)
	}
	return out.String()
}

// asSet stands for what only the settings of the process say.
const asSet = "as in the bot's settings"

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return code(value)
}

func number(n int64) string {
	if n == 0 {
		return asSet
	}
	return fmt.Sprint(n)
}

// orNever shows a number of units; nil is not set.
func orNever[T ~int | ~int64](n *T, never, unit T) string {
	switch {
	case n == nil:
		return asSet
	case *n == never:
		return "never"
	}
	return fmt.Sprint(int64(*n / unit))
}

func shown(list []string, otherwise string) string {
	if len(list) == 0 {
		return otherwise
	}
	var out []string
	for _, entry := range list[:min(len(list), maxShown)] {
		out = append(out, code(entry))
	}
	if more := len(list) - maxShown; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// code formats a text as Markdown code on one line, whatever it contains.
func code(text string) string {
	text = clean.Line(text, 300)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 || text == "" {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
