package models

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"matrix-tui/agent/gemini"
)

// Settings that are no names. What they mean is found out by asking.
const (
	Auto  = "auto"
	Pro   = "pro"
	Flash = "flash"
)

// Moves reports whether a setting means different models in the course of time: it is one of the above, or an alias of
// the API such as gemini-pro-latest.
func Moves(setting string) bool { return isLine(setting) || strings.HasSuffix(setting, "-latest") }

func isLine(setting string) bool { return setting == Auto || setting == Pro || setting == Flash }

// candidate is a model that a setting may mean.
type candidate struct {
	name         string
	major, minor int
	line         string // pro, flash or flash-lite
	preview      bool
	suffix       string // a date or a number: the name means one version forever
}

// named matches the models for text and tools. Variants for images, speech, live sessions and so on have more words.
var named = regexp.MustCompile(`^gemini-(\d{1,3})(?:\.(\d{1,3}))?-(pro|flash|flash-lite)(-preview)?((?:-\d{2,4}){0,3})$`)

// read returns what a listed model is, unless it cannot do tasks.
func read(m gemini.Model) (c candidate, ok bool) {
	match := named.FindStringSubmatch(m.Name)
	if match == nil || !m.Generates() {
		return c, false
	}
	c = candidate{name: m.Name, line: match[3], preview: match[4] != "", suffix: match[5]}
	c.major, _ = strconv.Atoi(match[1])
	c.minor, _ = strconv.Atoi(match[2]) // "" is 0
	return c, true
}

// what describes the candidate in words.
func (c candidate) what() string {
	if c.preview {
		return "preview of a " + c.line + " model"
	}
	return "stable " + c.line + " model"
}

// before reports in which order two candidates are tried: stable ones before previews, pro before flash before
// flash-lite, then the newest.
func (c candidate) before(d candidate) int {
	preview := func(c candidate) int {
		if c.preview {
			return 1
		}
		return 0
	}
	lines := []string{"pro", "flash", "flash-lite"}
	return cmp.Or(
		cmp.Compare(preview(c), preview(d)),
		cmp.Compare(slices.Index(lines, c.line), slices.Index(lines, d.line)),
		cmp.Compare(d.major, c.major), cmp.Compare(d.minor, c.minor),
		cmp.Compare(d.suffix, c.suffix),
	)
}

// rank returns the models that auto, pro or flash may mean, best first. A pinned version is left out if the list has
// the same model without a pin.
func rank(listed []gemini.Model, setting string) (ranked []candidate) {
	for _, m := range listed {
		c, ok := read(m)
		wanted := setting == Auto || setting == Pro && c.line == "pro" || setting == Flash && c.line != "pro"
		if !ok || !wanted || slices.ContainsFunc(ranked, func(d candidate) bool { return d.name == c.name }) {
			continue
		}
		plain := strings.TrimSuffix(c.name, c.suffix)
		if c.suffix == "" || !slices.ContainsFunc(listed,
			func(m gemini.Model) bool { return m.Name == plain && m.Generates() }) {
			ranked = append(ranked, c)
		}
	}
	slices.SortFunc(ranked, candidate.before)
	return ranked
}
