package policy

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits of the values: the same as for the settings of that meaning.
const (
	maxTimeout  = 30 * 24 * time.Hour
	maxQuestion = 30 * 24 * time.Hour

	// MaxTokens is the largest limit of tokens per day.
	MaxTokens = 1_000_000_000_000
)

// section contains the settings of all rooms, or of one; nil is not set.
type section struct {
	Allow      yaml.Node `yaml:"allow"`
	Block      *[]string `yaml:"block"`
	Reply      *string   `yaml:"reply"`
	Persona    *string   `yaml:"persona"`
	Model      *string   `yaml:"model"`
	Timezone   *string   `yaml:"timezone"`
	Limits     limits    `yaml:"limits"`
	Approvals  *[]string `yaml:"approvals"`
	MemoryFrom *[]string `yaml:"memory_from"`
	Proof      *string   `yaml:"require_encryption"`
}

type limits struct {
	TimeoutSeconds  *float64 `yaml:"timeout_seconds"`
	QuestionMinutes *float64 `yaml:"question_minutes"`
	TokensPerDay    *float64 `yaml:"tokens_per_day"`
	SessionHour     *float64 `yaml:"session_daily_hour"`
	SessionIdle     *float64 `yaml:"session_idle_minutes"`
}

// allowed returns the list, nil if it is not set. A key without a value is an error: removing all entries from the list
// must not let everybody in.
func (s *section) allowed() (*[]string, error) {
	if s.Allow.Kind == 0 {
		return nil, nil
	}
	var list *[]string
	if err := s.Allow.Decode(&list); err != nil {
		return nil, unreadable(nil, err)
	}
	if list == nil {
		return nil, errors.New("the value is missing; use [] for owners only, or remove the line to use MATRIX_ALLOW")
	}
	return list, nil
}

// over applies the section's settings on top of r. Blocked people add up: those of all rooms are blocked in each.
func (s *section) over(r *Room, where string) error {
	allow, err := s.allowed()
	if err != nil {
		return fmt.Errorf("%s: allow: %w", where, err)
	}
	if allow != nil {
		if r.allow, err = newPeople(*allow); err != nil {
			return fmt.Errorf("%s: allow: %w", where, err)
		}
	}
	if s.Block != nil {
		block, err := newPeople(*s.Block)
		if err != nil {
			return fmt.Errorf("%s: block: %w", where, err)
		}
		r.block = append(slices.Clip(r.block), block)
	}
	if s.Reply != nil {
		if r.Reply = Reply(*s.Reply); !slices.Contains(replies, r.Reply) {
			return fmt.Errorf("%s: reply: %q is not one of all, mention_only, owner_only, off", where, *s.Reply)
		}
	}
	if s.Persona != nil {
		if *s.Persona != "" && !isPersona(*s.Persona) {
			return fmt.Errorf("%s: persona: %q is not a text file in the state folder; use one like personas/pirate.md", where, *s.Persona)
		}
		r.Persona = *s.Persona
	}
	if s.Model != nil {
		if len(*s.Model) > MaxWord || !isWord(*s.Model) || strings.HasPrefix(*s.Model, "-") {
			return fmt.Errorf("%s: model: %q is not a model name; use auto, pro, flash, or one like gemini-3.7-flash", where, *s.Model)
		}
		r.Model = *s.Model
	}
	if s.Timezone != nil {
		if r.Zone, err = Zone(*s.Timezone); err != nil {
			return fmt.Errorf("%s: timezone: %w", where, err)
		}
	}
	if err := length(&r.Timeout, s.Limits.TimeoutSeconds, time.Second, maxTimeout); err != nil {
		return fmt.Errorf("%s: limits: timeout_seconds: %w", where, err)
	}
	if err := length(&r.QuestionTimeout, s.Limits.QuestionMinutes, time.Minute, maxQuestion); err != nil {
		return fmt.Errorf("%s: limits: question_minutes: %w", where, err)
	}
	if n := s.Limits.TokensPerDay; n != nil {
		if *n != math.Trunc(*n) || *n < 1 || *n > MaxTokens {
			return fmt.Errorf("%s: limits: tokens_per_day: %v is not a whole number from 1 to %d", where, *n, int64(MaxTokens))
		}
		r.Tokens = int64(*n)
	}
	if err := s.overMemory(r, where); err != nil {
		return err
	}
	if err := s.overProof(r, where); err != nil {
		return err
	}
	if err := s.overFreshness(r, where); err != nil {
		return err
	}
	return s.overApprovals(r, where)
}

// overMemory applies memory_from. Nothing crosses rooms by default, so no default allows it.
func (s *section) overMemory(r *Room, where string) error {
	if s.MemoryFrom == nil {
		return nil
	}
	list := *s.MemoryFrom
	if where == defaultsKey {
		return fmt.Errorf("%s: memory_from: only a room can have it", where)
	}
	if len(list) > MaxRooms {
		return fmt.Errorf("%s: memory_from: more than %d rooms", where, MaxRooms)
	}
	for _, room := range list {
		if !isRoom(room) {
			return fmt.Errorf("%s: memory_from: %q is not a room ID; use one like !abc:example.org", where, room)
		}
	}
	r.MemoryFrom = list
	return nil
}

func (s *section) overApprovals(r *Room, where string) error {
	if s.Approvals == nil {
		return nil
	}
	list := *s.Approvals
	if len(list) > MaxApprovals {
		return fmt.Errorf("%s: approvals: more than %d", where, MaxApprovals)
	}
	for _, prefix := range list {
		if strings.TrimSpace(prefix) == "" || len(prefix) > MaxPrefix || strings.ContainsAny(prefix, "\n\r\x00") {
			return fmt.Errorf("%s: approvals: %q is not the beginning of a command; use one like git push", where, prefix)
		}
	}
	r.Approvals = list
	return nil
}

// length reads a number of units, nil if it is not set.
func length(to *time.Duration, n *float64, unit, most time.Duration) error {
	if n == nil {
		return nil
	}
	if *n != math.Trunc(*n) || *n < 1 || *n > float64(most/unit) { // a float, because YAML truncates 1.5 to fit an int
		return fmt.Errorf("%v is not a whole number from 1 to %d", *n, most/unit)
	}
	*to = time.Duration(*n) * unit
	return nil
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
