package policy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
)

// A file that is empty for a moment, because somebody writes it, takes no rule away.
func TestEmptyFileKeepsRules(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("defaults: {approvals: [rm -rf]}")
	s := Open(dir, zerolog.Nop())
	for _, text := range []string{"", "\n", "defaults: {approvals: [git"} {
		write(text)
		if rules := s.Room("!r:x").Approvals; len(rules) != 1 || s.Err() == nil {
			t.Errorf("after %q: %v, %v", text, rules, s.Err())
		}
	}
	if err := os.Remove(filepath.Join(dir, "policy.yaml")); err != nil {
		t.Fatal(err)
	}
	if rules := s.Room("!r:x").Approvals; len(rules) != len(DefaultApprovals) || s.Err() != nil {
		t.Errorf("without a file: %v, %v", rules, s.Err())
	}
}
