package task

import (
	"strings"
	"testing"

	"matrix-tui/sandbox"
)

func TestAddedTo(t *testing.T) {
	const old, entry = "# Status\n", "[2026-03-01 10:00] Task: count the doors\nNine doors\n"
	grown := func(before, after string) sandbox.Watched {
		return sandbox.Watched{Before: int64(len(before)), After: int64(len(after)), Tail: after[max(0, len(after)-4096):]}
	}
	large := strings.Repeat("x", maxRewritten-1) + "\n"
	for name, c := range map[string]struct {
		file sandbox.Watched
		want string // "" if the file is left alone
	}{
		"continued":                    {grown(old, old+entry), entry},
		"continued without an end":     {grown("# Status", "# Status\n"+entry), "\n" + entry},
		"continued within a line":      {grown("# Status", "# Status: "+entry), ""},
		"rewritten, longer":            {grown(old+entry, "# Log\n"+strings.Repeat("a word ", 20)), ""},
		"rewritten, shorter":           {grown(old+entry, entry), ""},
		"unchanged":                    {grown(old, old), ""},
		"new":                          {sandbox.Watched{Before: -1, After: int64(len(entry)), Tail: entry}, ""},
		"empty before":                 {grown("", entry), ""},
		"removed":                      {sandbox.Watched{Before: int64(len(old)), After: -1}, ""},
		"more than can be seen":        {grown(old, old+strings.Repeat(entry, 100)), ""},
		"as much as can be seen":       {grown(old, old+strings.Repeat("x\n", 2048)), ""},
		"as large as may be rewritten": {grown(large, large+entry), entry},
		"too large":                    {grown("x"+large, "x"+large+entry), ""},
		"not UTF-8":                    {grown(old, old+"caf\uFFFD\n"), ""},
	} {
		if added, ok := addedTo(c.file); ok != (c.want != "") || ok && added != c.want {
			t.Errorf("%s: %q, %v, want %q", name, added, ok, c.want)
		}
	}
}
