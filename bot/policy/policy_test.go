package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		room, den  []string // what holds elsewhere, and in !den:x
	}{
		{"nothing", "", DefaultApprovals, DefaultApprovals},
		{"a comment", "# later\n", DefaultApprovals, DefaultApprovals},
		{"defaults", "defaults:\n  approvals: [terraform apply]\n", []string{"terraform apply"}, []string{"terraform apply"}},
		{"a room", "rooms:\n  '!den:x':\n    approvals: [rm]\n", DefaultApprovals, []string{"rm"}},
		{"none in a room", "rooms: {'!den:x': {approvals: []}}", DefaultApprovals, []string{}},
		{"a room that says nothing", "defaults: {approvals: [a]}\nrooms: {'!den:x': {}}", []string{"a"}, []string{"a"}},
	} {
		p, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.room, p.Room("!other:x").Approvals); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.den, p.Room("!den:x").Approvals); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"defaults: [":                        "did not find expected",
		"defaults: {aprovals: [x]}":          "aprovals",
		"defaults: {approvals: git push}":    "cannot unmarshal",
		"rooms: {'#den:x': {}}":              "is no room ID",
		"defaults: {approvals: ['']}":        "is no beginning of a command",
		"defaults: {approvals: [\"a\\nb\"]}": "is no beginning of a command",
		"a: 1\n---\nb: 2":                    "field a not found",
		"{}\n---\n{}":                        "something follows",
		strings.Repeat("#", MaxFile+1):       "larger than",
		"defaults: {approvals: [" + strings.Repeat("x,", MaxApprovals+1) + "]}": "more than",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q in it", text, err, want)
		}
	}
}

// The file counts from when it is changed; a wrong one changes nothing.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	at := time.Now()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second) // whatever the file system's clock can tell apart
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	s := Open(dir, zerolog.Nop())
	expect := func(want []string, wrong bool) {
		t.Helper()
		if diff := cmp.Diff(want, s.Room("!r:x").Approvals); diff != "" {
			t.Error(diff)
		}
		if (s.Err() != nil) != wrong {
			t.Errorf("error %v", s.Err())
		}
	}
	expect(DefaultApprovals, false)
	write("defaults: {approvals: [a]}")
	expect([]string{"a"}, false)
	write("defaults: {approvals: [")
	expect([]string{"a"}, true)
	write("defaults: {approvals: [b]}")
	expect([]string{"b"}, false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect(DefaultApprovals, false)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("defaults:\n  approvals: [git push]\nrooms:\n  '!a:b': {approvals: []}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err == nil && len(p.Room("!a:b").Approvals) > MaxApprovals {
			t.Error("more approvals than may be")
		}
	})
}
