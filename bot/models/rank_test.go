package models

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/agent/gemini"
)

func list(names ...string) (all []gemini.Model) {
	for _, name := range names {
		all = append(all, gemini.Model{Name: name, Methods: []string{"generateContent", "countTokens"}})
	}
	return all
}

// autumn is what the API listed in the autumn of 2026.
var autumn = append(list("gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.0-flash-001", "gemini-2.0-flash", "gemini-2.5-flash-image", "gemini-2.5-flash-preview-tts",
	"gemini-2.5-flash-native-audio-preview-09-2025", "gemini-2.5-computer-use-preview-10-2025", "gemini-3.1-pro-preview", "gemini-3.1-pro-preview-customtools",
	"gemini-3-flash-preview", "gemini-3.1-flash-lite", "gemini-3.5-flash", "gemini-3.7-flash", "gemini-3.10-flash-preview-09-2026", "gemini-robotics-er-1.5-preview",
	"gemini-pro-latest", "gemini-flash-latest", "gemini-3.5-flash", "gemma-4-31b-it", "nano-banana-pro-preview", "gemini-3-pro-image"),
	gemini.Model{Name: "gemini-embedding-001", Methods: []string{"embedContent"}}, gemini.Model{Name: "gemini-9-pro", Methods: []string{"bidiGenerateContent"}})

func TestRank(t *testing.T) {
	for _, test := range []struct {
		setting string
		listed  []gemini.Model
		want    string
	}{
		{Auto, autumn, "gemini-2.5-pro gemini-3.7-flash gemini-3.5-flash gemini-2.5-flash gemini-2.0-flash gemini-3.1-flash-lite gemini-3.1-pro-preview gemini-3.10-flash-preview-09-2026 gemini-3-flash-preview"},
		{Pro, autumn, "gemini-2.5-pro gemini-3.1-pro-preview"},
		{Flash, list("gemini-3.9-flash", "gemini-3.10-flash", "gemini-4-flash-lite", "gemini-3.10-pro"), "gemini-3.10-flash gemini-3.9-flash gemini-4-flash-lite"},
		{Auto, list("gemini-4-pro-001", "gemini-4-pro-002", "gemini-10-pro", "gemini-10-pro-001"), "gemini-10-pro gemini-4-pro-002 gemini-4-pro-001"},
		{Auto, nil, ""},
	} {
		var names []string
		for _, c := range rank(test.listed, test.setting) {
			names = append(names, c.name)
		}
		if diff := cmp.Diff(test.want, strings.Join(names, " ")); diff != "" {
			t.Errorf("%s: unexpected order (-want +got):\n%s", test.setting, diff)
		}
	}
}

func TestPick(t *testing.T) {
	closed := &gemini.Refusal{Kind: gemini.NoModel, Status: 404}
	none := &gemini.Refusal{Kind: gemini.Quota, Status: 429, None: true}
	minute := &gemini.Refusal{Kind: gemini.Quota, Status: 429}
	day := &gemini.Refusal{Kind: gemini.Quota, Status: 429, PerDay: true}
	busy := &gemini.Refusal{Kind: gemini.Overload, Status: 503}
	odd := &gemini.Refusal{Kind: gemini.Refused, Status: 400}
	wrong := &gemini.Refusal{Kind: gemini.WrongKey, Status: 400}
	away := &gemini.Refusal{Kind: gemini.Network}
	for _, test := range []struct {
		name    string
		last    string
		answers map[string]error // nil: it answers
		want    string
		why     string // a part of it
		err     gemini.Kind
	}{
		{"the best answers", "gemini-3-flash", nil, "gemini-4-pro", "the newest stable pro model that the key may use", ""},
		{"closed", "", map[string]error{"gemini-4-pro": closed}, "gemini-4-flash", "; not gemini-4-pro (not available to the key)", ""},
		{"without quota", "", map[string]error{"gemini-4-pro": none}, "gemini-4-flash", "no quota", ""},
		{"refused", "", map[string]error{"gemini-4-pro": odd}, "gemini-4-flash", "refused with 400", ""},
		{"a quota per minute", "", map[string]error{"gemini-4-pro": minute}, "gemini-4-pro", "", ""},
		{"a quota per day", "", map[string]error{"gemini-4-pro": day}, "gemini-4-flash", "daily quota", ""},
		{"a quota per day of the choice", "gemini-4-pro", map[string]error{"gemini-4-pro": day}, "gemini-4-pro", "", ""},
		{"overloaded", "", map[string]error{"gemini-4-pro": busy}, "gemini-4-flash", "overloaded", ""},
		{"an overloaded choice", "gemini-4-pro", map[string]error{"gemini-4-pro": busy}, "gemini-4-pro", "", ""},
		{"a busy one is better than none", "", map[string]error{"gemini-4-pro": busy, "gemini-4-flash": closed, "gemini-3-flash": closed, "gemini-5-pro-preview": closed}, "gemini-4-pro", "busy", ""},
		{"previews are last", "", map[string]error{"gemini-4-pro": closed, "gemini-4-flash": closed, "gemini-3-flash": closed}, "gemini-5-pro-preview", "preview of a pro model", ""},
		{"nothing answers", "", map[string]error{"gemini-4-pro": closed, "gemini-4-flash": closed, "gemini-3-flash": closed, "gemini-5-pro-preview": odd}, "", "", gemini.NoModel},
		{"a wrong key", "gemini-4-pro", map[string]error{"gemini-4-pro": wrong}, "", "", gemini.WrongKey},
		{"no network", "gemini-4-pro", map[string]error{"gemini-4-pro": closed, "gemini-4-flash": away}, "", "", gemini.Network},
	} {
		t.Run(test.name, func(t *testing.T) {
			ranked := rank(list("gemini-3-flash", "gemini-5-pro-preview", "gemini-4-flash", "gemini-4-pro"), Auto)
			name, why, err := pick(ranked, test.last, func(model string) error { return test.answers[model] })
			var r *gemini.Refusal
			if name != test.want || !strings.Contains(why, test.why) || errors.As(err, &r) != (test.err != "") || r != nil && r.Kind != test.err {
				t.Errorf("pick = %q, %q, %v; want %q, %q, %q", name, why, err, test.want, test.why, test.err)
			}
		})
	}
	t.Run("bounded", func(t *testing.T) {
		tried := 0
		many := make([]candidate, 100)
		if _, _, err := pick(many, "", func(string) error { tried++; return closed }); err == nil || tried != maxTries {
			t.Errorf("tried %d, %v", tried, err)
		}
	})
}
