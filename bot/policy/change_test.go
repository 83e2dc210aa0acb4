package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/sentence"
)

// folder creates a state folder with a policy file, or without one for "".
func folder(t *testing.T, file string) (s *Source, path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "policy.yaml")
	if file != "" {
		if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Open(dir, zerolog.Nop()), path
}

func TestAllowAndBlock(t *testing.T) {
	settings := []string{"@set:x"}
	allow := func(user, room string) func(*Source) error {
		return func(s *Source) error { return s.Allow(user, room, settings) }
	}
	block := func(user, room string) func(*Source) error {
		return func(s *Source) error { return s.Block(user, room) }
	}
	for _, c := range []struct {
		name, before string
		do           func(*Source) error
		after        string // "" if nothing may be written
		wrong        string
	}{
		{"the first goes on from the settings", "", allow("@a:x", ""), "defaults:\n  allow:\n    - \"@set:x\"\n    - \"@a:x\"\n", ""},
		{"one more", "defaults: {allow: ['@a:x']}\n", allow("@b:x", "defaults"), "defaults: {allow: ['@a:x', \"@b:x\"]}\n", ""},
		{"a room's goes on from all rooms'", "defaults: {allow: ['@a:x']}\n", allow("@b:x", "!r:x"),
			"defaults: {allow: ['@a:x']}\nrooms:\n  \"!r:x\":\n    allow:\n      - \"@a:x\"\n      - \"@b:x\"\n", ""},
		{"from none", "defaults: {allow: []}\n", allow("@b:x", ""), "defaults: {allow: [\"@b:x\"]}\n", ""},
		{"a server", "defaults: {allow: []}\n", allow("@*:y", ""), "defaults: {allow: [\"@*:y\"]}\n", ""},
		{"who is heard by the settings", "", allow("@set:x", ""), "", ""},
		{"who is heard", "defaults: {allow: ['@a:x']}\n", allow("@a:x", ""), "", ""},
		{"who is heard by a glob", "defaults: {allow: ['@*:x']}\n", allow("@a:x", ""), "", ""},
		{"who is heard in all rooms", "defaults: {allow: ['@a:x']}\n", allow("@a:x", "!r:x"), "", ""},
		{"who was blocked", "defaults: {block: ['@a:x', '@b:x'], allow: []}\n", allow("@a:x", ""), "defaults: {block: ['@b:x'], allow: [\"@a:x\"]}\n", ""},
		{"who is blocked by a glob", "defaults: {block: ['@*:x']}\n", allow("@a:x", ""), "", "That would not let `@a:x` in: the policy blocks `@*:x`"},
		{"who is blocked in all rooms", "defaults: {block: ['@a:x']}\n", allow("@a:x", "!r:x"), "", "the policy blocks `@a:x`"},
		{"who is blocked elsewhere", "rooms: {'!r:x': {block: ['@a:x']}}\ndefaults: {allow: []}\n", allow("@a:x", ""),
			"rooms: {'!r:x': {block: ['@a:x']}}\ndefaults: {allow: [\"@a:x\"]}\n", ""},
		{"a localpart", "", allow("a", ""), "", "`a` is not a full user ID"},
		{"a pattern", "", allow("@a*:x", ""), "", "is not a full user ID"},

		{"block", "", block("@a:x", ""), "defaults:\n  block:\n    - \"@a:x\"\n", ""},
		{"block in a room", "defaults: {reply: all}\n", block("@*:x", "!r:x"), "defaults: {reply: all}\nrooms:\n  \"!r:x\":\n    block:\n      - \"@*:x\"\n", ""},
		{"block who was allowed", "defaults: {allow: ['@a:x']}\n", block("@a:x", ""), "defaults: {allow: [], block: [\"@a:x\"]}\n", ""},
		{"block who is", "defaults: {block: ['@a:x']}\n", block("@a:x", ""), "", ""},
		{"block beside one that is there twice", "defaults:\n  block:\n    - '@a:x' # once\n    - \"@a:x\" # twice\n", block("@b:x", ""),
			"defaults:\n  block:\n    - '@a:x' # once\n    - \"@a:x\" # twice\n    - \"@b:x\"\n", ""},
		{"block nobody", "", block("", ""), "", "is not a full user ID"},
		{"block in no room", "", block("@a:x", "den"), "", "is not a room ID"},
		{"set with a prefix", "", func(s *Source) error { return s.Set("", "Limits.Question_minutes", " 5 ") }, "defaults:\n  limits:\n    question_minutes: 5\n", ""},
		{"set something else", "", func(s *Source) error { return s.Set("", "colour", "red") }, "", "There is no setting \"colour\". The settings are allow, block, "},
		{"reset", "defaults: {reply: all}\nrooms: {'!r:x': {reply: off}}\n", func(s *Source) error { return s.Reset("!r:x") }, "defaults: {reply: all}\n", ""},
		{"a wrong file", "defaults: {allow: '", block("@a:x", ""), "", "so I did not change it"},
	} {
		s, path := folder(t, c.before)
		err := c.do(s)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		}
		if _, ok := sentence.Of(err); err != nil && !ok {
			t.Errorf("%s: %v is no sentence", c.name, err)
		}
		want := c.after
		if want == "" {
			want = c.before
		}
		got, err := os.ReadFile(path)
		if err != nil && (c.after != "" || c.before != "" || !errors.Is(err, os.ErrNotExist)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if c.after == "" {
			continue
		}
		if err := c.do(s); err != nil {
			t.Errorf("%s, again: %v", c.name, err)
		}
		if again, err := os.ReadFile(path); err != nil || string(again) != want {
			t.Errorf("%s, again: %s, %v", c.name, again, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, %v", c.name, info.Mode(), err)
		}
	}
}

// Manual changes between two commands are kept, and changes by command apply at once.
func TestChangeKeepsHandEdits(t *testing.T) {
	s, path := folder(t, "")
	if err := s.Allow("@a:x", "", nil); err != nil {
		t.Fatal(err)
	}
	if !s.Decide(Query{Sender: "@a:x"}).Heard {
		t.Error("allowed, and not heard")
	}
	if err := os.WriteFile(path, []byte("# mine\ndefaults:\n  allow:\n    - '@b:x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Block("@c:x", ""); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("# mine\ndefaults:\n  allow:\n    - '@b:x'\n  block:\n    - \"@c:x\"\n", string(got)); diff != "" {
		t.Error(diff)
	}
	if s.Decide(Query{Sender: "@a:x"}).Heard || !s.Decide(Query{Sender: "@b:x"}).Heard {
		t.Error("what was changed by hand does not count")
	}
}

// Somebody who saves the file while the bot edits it wins: the edit starts again.
func TestChangeBeginsAnewWhenTheFileChanged(t *testing.T) {
	s, path := folder(t, "defaults: {reply: all}\n")
	tries := 0
	err := s.write(func(data []byte) ([]byte, error) {
		if tries++; tries == 1 {
			if err := os.WriteFile(path, []byte("defaults: {reply: off, model: m}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return append(data, "# edited\n"...), nil
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "defaults: {reply: off, model: m}\n# edited\n" {
		t.Errorf("%s, %v", got, err)
	}
	n := 0
	err = s.write(func(data []byte) ([]byte, error) {
		n++
		if err := os.WriteFile(path, fmt.Appendf(nil, "# %0*d\n", n, n), 0o600); err != nil {
			t.Fatal(err)
		}
		return []byte("defaults: {}\n"), nil
	})
	if err == nil || !strings.Contains(err.Error(), "someone else") {
		t.Errorf("a file that changes all the time: %v", err)
	}
}

func TestChangesFromManySides(t *testing.T) {
	s, _ := folder(t, "")
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			if err := s.Allow(fmt.Sprintf("@u%d:x", i), "", nil); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	for i := range 8 {
		if !s.Decide(Query{Sender: fmt.Sprintf("@u%d:x", i)}).Heard {
			t.Errorf("@u%d:x is lost", i)
		}
	}
}

// A link to the file stays a link, and the size limit of the file is enforced.
func TestChangeOfLinkAndBound(t *testing.T) {
	s, path := folder(t, "")
	real := filepath.Join(t.TempDir(), "real.yaml")
	if err := os.WriteFile(real, []byte("defaults: {reply: all}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("", "reply", "off"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(real); err != nil || string(got) != "defaults: {reply: \"off\"}\n" {
		t.Errorf("%s, %v", got, err)
	}
	if err := os.WriteFile(real, append([]byte("defaults: {reply: off}\n"), strings.Repeat("#", MaxFile-30)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("", "model", "m"); err == nil || !strings.Contains(err.Error(), "larger than 1024 KiB") {
		t.Errorf("a file that grows too large: %v", err)
	}
}
