package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShow(t *testing.T) {
	s, path := folder(t, `
defaults: {allow: ["@a:x", "@*:y"], block: ["@b:x"], approvals: []}
rooms: {"!r:x": {block: ["@c:x"], reply: "off", persona: p.md, model: m, timezone: Asia/Tokyo, limits: {timeout_seconds: 90, question_minutes: 2}, memory_from: ["!s:x"], require_encryption: owners}}
`)
	for room, want := range map[string]string{
		"": "**All rooms** (1 have settings of their own)\n\n" +
			"- `allow`: `@a:x`, `@*:y` (all rooms)\n- `block`: `@b:x` (all rooms)\n" +
			"- `reply`: `all` in a room of two, `mention_only` in larger ones (default)\n- `persona`: none (default)\n" +
			"- `model`: as in the bot's settings (default)\n- `timezone`: as on the bot's host (default)\n- `timeout_seconds`: as in the bot's settings (default)\n" +
			"- `question_minutes`: as in the bot's settings (default)\n- `tokens_per_day`: as in the bot's settings (default)\n- `session_daily_hour`: as in the bot's settings (default)\n- `session_idle_minutes`: as in the bot's settings (default)\n- `approvals`: none (all rooms)\n- `schedule`: everyone (default)\n- `memory_from`: no other room (default)\n- `require_encryption`: as in the bot's settings (default)\n",
		"!r:x": "**This room**, `!r:x`\n\n" +
			"- `allow`: `@a:x`, `@*:y` (all rooms)\n- `block`: `@b:x`, `@c:x` (this room and all rooms)\n- `reply`: `off` (this room)\n" +
			"- `persona`: `p.md` (this room)\n- `model`: `m` (this room)\n- `timezone`: `Asia/Tokyo` (this room)\n- `timeout_seconds`: 90 (this room)\n" +
			"- `question_minutes`: 2 (this room)\n- `tokens_per_day`: as in the bot's settings (default)\n- `session_daily_hour`: as in the bot's settings (default)\n- `session_idle_minutes`: as in the bot's settings (default)\n- `approvals`: none (all rooms)\n- `schedule`: everyone (default)\n- `memory_from`: `!s:x` (this room)\n- `require_encryption`: `owners` (this room)\n",
	} {
		if diff := cmp.Diff(want, s.Show(room)); diff != "" {
			t.Error(diff)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := s.Show("!r:x"); !strings.Contains(got, "- `allow`: as in MATRIX_ALLOW (default)\n") || !strings.Contains(got, "`git push`, `gh pr create`") {
		t.Error(got)
	}
	if err := os.WriteFile(path, []byte("defaults: {allow: [`"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.Show(""); !strings.Contains(got, "\npolicy.yaml is invalid, so these settings stay in force until it is fixed: ") {
		t.Error(got)
	}
}

func TestCodeSpan(t *testing.T) {
	for text, want := range map[string]string{
		"a":                      "`a`",
		"a`b":                    "`` a`b ``",
		"a\n- b":                 "`a - b`",
		"":                       "`  `",
		"\xff":                   "`�`",
		strings.Repeat("é", 200): "`" + strings.Repeat("é", 148) + "…`",
	} {
		if got := code(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
