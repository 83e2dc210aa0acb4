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
		room, den  []string // the approvals elsewhere, and in !den:x
	}{
		{"nothing", "", DefaultApprovals, DefaultApprovals},
		{"a comment", "# later\n", DefaultApprovals, DefaultApprovals},
		{"defaults", "defaults:\n  approvals: [terraform apply]\n", []string{"terraform apply"}, []string{"terraform apply"}},
		{"a room", "rooms:\n  '!den:x':\n    approvals: [rm]\n", DefaultApprovals, []string{"rm"}},
		{"none in a room", "rooms: {'!den:x': {approvals: []}}", DefaultApprovals, []string{}},
		{"a room without settings", "defaults: {approvals: [a]}\nrooms: {'!den:x': {}}", []string{"a"}, []string{"a"}},
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
		"defaults: [":              "line 1: sequence end token ']' not found",
		"a: 1\n":                   `line 1: unknown field "a"`,
		"defaults: {reply: [all]}": "line 1: defaults: reply: [all] is not a text",
		"rooms:\n  '!r:x':\n    limits:\n      timeout_seconds: 0":              "line 4: rooms: !r:x: limits: timeout_seconds: 0 is not",
		"defaults: {aprovals: [x]}":                                             "aprovals",
		"defaults: {approvals: git push}":                                       "line 1: defaults: approvals: git push is not a list of texts",
		"rooms: {'#den:x': {}}":                                                 "is not a room ID",
		"defaults: {approvals: ['']}":                                           "is not the beginning of a command",
		"defaults: {approvals: [\"a\\nb\"]}":                                    "is not the beginning of a command",
		"a: 1\n---\nb: 2":                                                       "more than one YAML document",
		"{}\n---\n{}":                                                           "more than one YAML document",
		strings.Repeat("#", MaxFile+1):                                          "larger than",
		"defaults: {allow: }":                                                   "allow: the value is missing; use [] for owners only",
		"defaults:\n  allow:\n  # - '@a:x'\nrooms: {}":                          "the value is missing",
		"defaults: {allow: '@a:x'}":                                             "defaults: allow: @a:x is not a list of texts",
		"defaults:\n  allow:\n  - @a:x\n":                                       `put IDs in quotes, such as "@alice:example.org"`,
		"rooms:\n  !den:x:\n    reply: all\n":                                   "put IDs in quotes",
		"defaults: {allow: [alice]}":                                            `defaults: allow: "alice" is not a full user ID`,
		"defaults: {allow: ['*']}":                                              "is not a full user ID",
		"defaults: {allow: ['@*']}":                                             "is not a full user ID",
		"defaults: {allow: ['@a*:x']}":                                          "is not a full user ID",
		"defaults: {allow: ['@*:*.x']}":                                         "is not a full user ID",
		"defaults: {allow: ['@:x']}":                                            "is not a full user ID",
		"defaults: {allow: ['@a:']}":                                            "is not a full user ID",
		"defaults: {block: ['@a :x']}":                                          "defaults: block: ",
		"defaults: {block: [\"@a\u202e:x\"]}":                                   "is not a full user ID",
		"rooms: {'!r:x': {block: ['@a']}}":                                      `rooms: !r:x: block: "@a" is not a full user ID`,
		"defaults: {reply: sometimes}":                                          `"sometimes" is not one of all, mention_only, owner_only, off`,
		"defaults: {reply: ''}":                                                 "is not one of all",
		"defaults: {persona: /etc/passwd.txt}":                                  "is not a text file in the state folder",
		"defaults: {persona: ../a.md}":                                          "is not a text file",
		"defaults: {persona: a/../../b.md}":                                     "is not a text file",
		"defaults: {persona: ./a.md}":                                           "is not a text file",
		"defaults: {persona: .env}":                                             "is not a text file",
		"defaults: {persona: .md}":                                              "is not a text file",
		"defaults: {timezone: Mars/Olympus}":                                    `timezone: "Mars/Olympus" is not a time zone; use one like Europe/Berlin`,
		"defaults: {timezone: Local}":                                           "is not a time zone",
		"defaults: {timezone: ../localtime}":                                    "is not a time zone",
		"defaults: {timezone: CET-1CEST}":                                       "is not a time zone",
		"defaults: {persona: recovery-key}":                                     "is not a text file",
		`defaults: {persona: 'a\b.md'}`:                                         "is not a text file",
		"defaults: {model: --help}":                                             "is not a model name",
		"defaults: {model: a b}":                                                "is not a model name",
		"defaults: {limits: {timeout_seconds: 0}}":                              "defaults: limits: timeout_seconds: 0 is not a whole number from 1 to 2592000",
		"defaults: {limits: {timeout_seconds: 1.5}}":                            "1.5 is not a whole number",
		"defaults: {limits: {question_minutes: .nan}}":                          "is not a whole number",
		"defaults: {limits: {question_minutes: 43201}}":                         "from 1 to 43200",
		"defaults: {limits: {memory: 1g}}":                                      "memory",
		"defaults: {memory_from: ['!a:x']}":                                     "defaults: memory_from: only a room can have it",
		"rooms: {'!r:x': {memory_from: ['@a:x']}}":                              `memory_from: "@a:x" is not a room ID`,
		"rooms: {'!r:x': {memory_from: ['!1','!2','!3','!4','!5','!6']}}":       "more than 5 rooms",
		"rooms: {'!a b:x': {}}":                                                 "is not a room ID",
		"rooms: {'!': {}}":                                                      "is not a room ID",
		"rooms: {'!a:x': {}, '!a:x': {}}":                                       "already defined",
		"defaults: {allow: [" + strings.Repeat("'@a:x',", MaxPeople+1) + "]}":   "allow: more than 1000 entries",
		"defaults: {approvals: [" + strings.Repeat("x,", MaxApprovals+1) + "]}": "more than",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q in it", text, err, want)
		}
	}
}

// A change of the file applies at once; an invalid file changes nothing.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	at := time.Now()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second) // a difference that every file system's clock shows
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

// A room inherits what it does not set.
func TestRoom(t *testing.T) {
	p, err := Parse([]byte(`
defaults: {reply: all, persona: a.md, model: m, timezone: Pacific/Auckland, limits: {timeout_seconds: 60, question_minutes: 5}}
rooms:
  "!own:x": {reply: mention_only, persona: "p/b.txt", model: n, timezone: US/Pacific, limits: {timeout_seconds: 61, tokens_per_day: 7}, memory_from: ["!none:x"]}
  "!none:x": {persona: "", model: "", timezone: ""}
  "!version12-without-server": {reply: off}
`))
	if err != nil {
		t.Fatal(err)
	}
	zone := func(name string) *time.Location {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return zone
	}
	for id, want := range map[string]Room{
		"!other:x":                  {DefaultApprovals, All, "a.md", "m", zone("Pacific/Auckland"), time.Minute, 5 * time.Minute, 0, nil, "", Freshness{}, "", nil, nil},
		"!own:x":                    {DefaultApprovals, MentionOnly, "p/b.txt", "n", zone("US/Pacific"), 61 * time.Second, 5 * time.Minute, 7, []string{"!none:x"}, "", Freshness{}, "", nil, nil},
		"!none:x":                   {DefaultApprovals, All, "", "", nil, time.Minute, 5 * time.Minute, 0, nil, "", Freshness{}, "", nil, nil},
		"!version12-without-server": {DefaultApprovals, Off, "a.md", "m", zone("Pacific/Auckland"), time.Minute, 5 * time.Minute, 0, nil, "", Freshness{}, "", nil, nil},
	} {
		if diff := cmp.Diff(want, p.Room(id), cmp.AllowUnexported(Room{}), cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() && (a == nil) == (b == nil) })); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}

// A bot that starts with an invalid file must not let in people whom the file may block.
func TestSourceBeginsWrong(t *testing.T) {
	s, path := folder(t, "defaults: {block: ['@bad:x'")
	q := Query{Room: "!r:x", Sender: "@bad:x", Owners: []string{"@owner:x"}, Allow: []string{"@*:x"}}
	owner := q
	owner.Sender = "@owner:x"
	if s.Decide(q).Heard || !s.Decide(owner).Heard || s.Err() == nil {
		t.Errorf("%+v, %+v, %v", s.Decide(q), s.Decide(owner), s.Err())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !s.Decide(q).Heard || s.Err() != nil {
		t.Errorf("without the file: %+v, %v", s.Decide(q), s.Err())
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if s.Err() == nil || !strings.HasSuffix(s.Err().Error(), "is not a regular file") {
		t.Errorf("a folder: %v", s.Err())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("defaults:\n  approvals: [git push]\nrooms:\n  '!a:b': {approvals: []}\n"))
	f.Add([]byte("defaults:\n  allow: ['@*:x', '@a:b']\n  block: &b ['@*:*']\n  reply: off\n  persona: p.md\n  limits: {timeout_seconds: 1e3}\nrooms: {'!a:b': {block: *b, model: m}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		r := p.Room("!a:b")
		if len(r.Approvals) > MaxApprovals {
			t.Error("more approvals than may be")
		}
		if strings.Contains(r.Persona, "..") && !filepath.IsLocal(r.Persona) {
			t.Errorf("persona %q", r.Persona)
		}
		if d := p.Decide(Query{Room: "!a:b", Sender: "@o:x", Owners: []string{"@o:x"}}); !d.Heard {
			t.Error("an owner is not heard")
		}
		if d := p.Decide(Query{Room: "!a:b", Sender: "@a:b"}); d.Reply && !d.Heard || d.Pair && d.Heard {
			t.Errorf("%+v", d)
		}
	})
}

// The ID of a room of version 12 is a hash without a server.
func TestMisnamed(t *testing.T) {
	hash := "!" + strings.Repeat("aB3_-", 8) + "xyz"
	p, err := Parse([]byte(`rooms: {"` + hash + `:example.org": {reply: all}, "` + hash + `": {}, "!kitchen:example.org": {memory_from: ["` + hash + `:x:8448", "!den:x"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{hash + ":example.org", hash + ":x:8448"}, p.Misnamed()); diff != "" {
		t.Error(diff)
	}
	_, err = edit(nil, hash+":example.org", func(*Policy, section) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "Use "+hash+".") {
		t.Errorf("edited: %v", err)
	}
}
