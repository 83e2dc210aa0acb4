package policy

import (
	"fmt"
	"strings"
	"time"

	"matrix-tui/state/clean"
)

// maxShown is how many entries of a list are shown.
const maxShown = 20

// Show lists in Markdown the settings that apply in a room, and where each is set; room "" or "defaults" means all
// rooms.
func (s *Source) Show(room string) string {
	text := s.Now().Show(room)
	if err := s.Err(); err != nil {
		text += fmt.Sprintf("\npolicy.yaml is invalid, so these settings stay in force until it is fixed: %s\n", code(err.Error()))
	}
	return text
}

// Show is [Source.Show] for a policy.
func (p *Policy) Show(room string) string {
	var out strings.Builder
	r, said := p.room(room), file{}
	if p != nil {
		said = p.said
	}
	own := section{}
	if where := place(room); where == defaultsKey {
		fmt.Fprintf(&out, "**All rooms** (%d have settings of their own)\n\n", len(said.Rooms))
	} else {
		own = said.Rooms[room]
		fmt.Fprintf(&out, "**This room**, %s\n\n", code(room))
	}
	for _, key := range Keys {
		from := "default"
		switch {
		case own.says(key) && said.Defaults.says(key) && key == "block":
			from = "this room and all rooms"
		case own.says(key):
			from = "this room"
		case said.Defaults.says(key):
			from = "all rooms"
		}
		fmt.Fprintf(&out, "- `%s`: %s (%s)\n", key, r.show(key), from)
	}
	return out.String()
}

// says reports whether a section sets a key.
func (s *section) says(key string) bool {
	return map[string]bool{
		"allow":                s.Allow.Kind != 0,
		"block":                s.Block != nil,
		"reply":                s.Reply != nil,
		"persona":              s.Persona != nil,
		"model":                s.Model != nil,
		"timezone":             s.Timezone != nil,
		"timeout_seconds":      s.Limits.TimeoutSeconds != nil,
		"question_minutes":     s.Limits.QuestionMinutes != nil,
		"tokens_per_day":       s.Limits.TokensPerDay != nil,
		"approvals":            s.Approvals != nil,
		"memory_from":          s.MemoryFrom != nil,
		"require_encryption":   s.Proof != nil,
		"session_daily_hour":   s.Limits.SessionHour != nil,
		"session_idle_minutes": s.Limits.SessionIdle != nil,
	}[key]
}

// show formats the value of a key.
func (r *Room) show(key string) string {
	switch key {
	case "allow":
		if r.allow == nil {
			return "as in MATRIX_ALLOW"
		}
		return shown(r.allow.list, "owners only")
	case "block":
		var all []string
		for _, list := range r.block {
			all = append(all, list.list...)
		}
		return shown(all, "nobody")
	case "reply":
		if r.Reply == "" {
			return fmt.Sprintf("`%s` in a room of two, `%s` in larger ones", Reply("").In(true), Reply("").In(false))
		}
		return code(string(r.Reply))
	case "persona":
		return word(r.Persona, "none")
	case "model":
		return word(r.Model, "as in the bot's settings")
	case "timezone":
		if r.Zone == nil {
			return "as on the bot's host"
		}
		return code(r.Zone.String())
	case "timeout_seconds":
		return number(r.Timeout, time.Second)
	case "question_minutes":
		return number(r.QuestionTimeout, time.Minute)
	case "tokens_per_day":
		return number(time.Duration(r.Tokens), 1)
	case "memory_from":
		return shown(r.MemoryFrom, "no other room")
	case "require_encryption":
		return word(string(r.Proof), "as in the bot's settings")
	case "session_daily_hour":
		return r.Fresh.showHour()
	case "session_idle_minutes":
		return r.Fresh.showIdle()
	}
	return shown(r.Approvals, "none")
}

func word(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return code(value)
}

func number(d, unit time.Duration) string {
	if d == 0 {
		return "as in the bot's settings"
	}
	return fmt.Sprint(int64(d / unit))
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
