package recall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/memory"
)

func TestMerge(t *testing.T) {
	nothing := func(string) bool { return false }
	for _, test := range []struct {
		name, file, before string
		lines              []memory.Line
		forgotten          func(string) bool
		want               string
	}{
		{"a new file", "MEMORY.md", "", []memory.Line{{Section: "Facts", Text: "one"}}, nothing,
			title("MEMORY.md") + "\n## Facts\n\n- one\n"},
		{"a new log", "memory/2026-11-23.md", "", []memory.Line{{Text: "14:00 one"}, {Text: "14:01 two"}}, nothing,
			"# 2026-11-23\n\n- 14:00 one\n- 14:01 two\n"},
		{"the end of a section", "MEMORY.md", "# Mine\n\n## Facts\n\n- old\n\n## Other\n\ntext\n", []memory.Line{{Section: "Facts", Text: "new"}}, nothing,
			"# Mine\n\n## Facts\n\n- old\n- new\n\n## Other\n\ntext\n"},
		{"an empty section at the end", "MEMORY.md", "## Facts", []memory.Line{{Section: "Facts", Text: "new"}}, nothing, "## Facts\n\n- new\n"},
		{"a line that is there", "MEMORY.md", "* one\n", []memory.Line{{Section: "Facts", Text: "one"}}, nothing, "* one\n"},
		{"a line that is gone", "MEMORY.md", "- one\n- two\n", []memory.Line{{Text: "one", Gone: true}}, nothing, "- two\n"},
		{"what was forgotten", "MEMORY.md", "- one\n  and more\n- two\n\nthree\n", nil, func(text string) bool { return strings.Contains(text, "and more") }, "- two\n\nthree\n"},
		{"a new context.md", "context.md", "", []memory.Line{{Section: "Prior tasks", Text: "[2026-11-23] a → b"}}, nothing,
			"# Context\n\n## Conventions discovered\n\n## Prior tasks\n\n- [2026-11-23] a → b\n"},
		{"a context.md with conventions", "context.md", "# Context\n\n## Conventions discovered\n- tabs\n", []memory.Line{{Section: "Prior tasks", Text: "c"}}, nothing,
			"# Context\n\n## Conventions discovered\n- tabs\n\n## Prior tasks\n\n- c\n"},
		{"a task that was forgotten", "status.md", "# Status Log\n\n[2026-11-23 12:00] Task: one\n[2026-11-23 12:01] Done.\n\n[2026-11-23 12:02] Task: one more\n", nil, func(text string) bool { return text == "one" }, "# Status Log\n\n\n[2026-11-23 12:02] Task: one more\n"},
		{"a line that looks like an item", "MEMORY.md", "- +49 30 1234 is the hotline\n", []memory.Line{{Section: "Facts", Text: "+49 30 1234 is the hotline"}}, nothing, "- +49 30 1234 is the hotline\n"},
		{"what was forgotten does not come back", "MEMORY.md", "- two\n", []memory.Line{{Text: "one"}}, func(text string) bool { return text == "one" }, "- two\n"},
		{"a file of somebody else", "MEMORY.md", "no heading, no list\r\n", []memory.Line{{Section: "Facts", Text: "one"}}, nothing, "no heading, no list\r\n\n## Facts\n\n- one\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := merge(test.file, test.before, test.lines, test.forgotten)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if again := merge(test.file, got, test.lines, test.forgotten); again != got {
				t.Errorf("a second time:\n%s", cmp.Diff(got, again))
			}
		})
	}
}
