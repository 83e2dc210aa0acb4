package policy

import (
	"fmt"
	"strings"
	"testing"
)

const people5 = `
defaults:
  allow: ["@friend:x", "@*:good.org", "@both:x"]
  block: ["@both:x", "@owner2:x", "@bad:good.org"]
rooms:
  "!all:x": {reply: all}
  "!mention:x": {reply: mention_only}
  "!owner:x": {reply: owner_only}
  "!off:x": {reply: off}
`

// Every sender in every kind of room. The eight letters are: in a room, the
// plain message, the mention, the command, the command that mentions; then the
// same in a direct chat. R is answered, h is heard, - is not heard, p is not
// heard and gets a pairing code.
func TestDecide(t *testing.T) {
	p, err := Parse([]byte(people5))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ room, sender, want string }{
		{"!unset:x", "@owner:x", "hRRR RRRR"},
		{"!unset:x", "@owner2:x", "hRRR RRRR"}, // blocked, and an owner
		{"!unset:x", "@friend:x", "hRRR RRRR"},
		{"!unset:x", "@any:good.org", "hRRR RRRR"},
		{"!unset:x", "@both:x", "---- ----"}, // allowed, and blocked
		{"!unset:x", "@bad:good.org", "---- ----"},
		{"!unset:x", "@stranger:x", "-t-t pppp"},

		{"!all:x", "@owner:x", "RRRR RRRR"},
		{"!all:x", "@owner2:x", "RRRR RRRR"},
		{"!all:x", "@friend:x", "RRRR RRRR"},
		{"!all:x", "@both:x", "---- ----"},
		{"!all:x", "@stranger:x", "-t-t pppp"},

		{"!mention:x", "@owner:x", "hRRR hRRR"},
		{"!mention:x", "@owner2:x", "hRRR hRRR"},
		{"!mention:x", "@friend:x", "hRRR hRRR"},
		{"!mention:x", "@both:x", "---- ----"},
		{"!mention:x", "@stranger:x", "-t-t pppp"},

		{"!owner:x", "@owner:x", "RRRR RRRR"},
		{"!owner:x", "@owner2:x", "RRRR RRRR"},
		{"!owner:x", "@friend:x", "hoho hoho"},
		{"!owner:x", "@both:x", "---- ----"},
		{"!owner:x", "@stranger:x", "---- ----"},

		{"!off:x", "@owner:x", "hhRR hhRR"}, // otherwise nobody could turn it on again
		{"!off:x", "@owner2:x", "hhRR hhRR"},
		{"!off:x", "@friend:x", "hhhh hhhh"},
		{"!off:x", "@both:x", "---- ----"},
		{"!off:x", "@stranger:x", "---- ----"},

		// Only the full ID counts, in its exact case.
		{"!all:x", "@Owner:x", "-t-t pppp"},
		{"!all:x", "@owner:x.evil", "-t-t pppp"},
		{"!all:x", "@owner:x:8448", "-t-t pppp"},
		{"!all:x", "@FRIEND:x", "-t-t pppp"},
		{"!all:x", "@friend:y", "-t-t pppp"},
		{"!all:x", "@a:evil.good.org", "-t-t pppp"},
		{"!all:x", "@a:good.org.evil", "-t-t pppp"},
		{"!all:x", "@a:Good.org", "-t-t pppp"},
		{"!all:x", "a:good.org", "-t-t pppp"},
		{"!all:x", "good.org", "-t-t pppp"},
		{"!all:x", "@*:good.org", "RRRR RRRR"}, // an odd user of that server
		{"!all:x", "", "-t-t pppp"},
	} {
		var got strings.Builder
		for i := range 8 {
			if i == 4 {
				got.WriteByte(' ')
			}
			q := Query{Room: c.room, Sender: c.sender, Owners: []string{"@owner:x", "@owner2:x"},
				Allow:  []string{"@stranger:x", "@*:*"}, // ignored because the file has a list
				Direct: i >= 4, Alone: i >= 4, Command: i&2 != 0, Mentioned: i&1 != 0}
			got.WriteString(letter(p.Decide(q)))
		}
		if got.String() != c.want {
			t.Errorf("%s in %s: %s, want %s", c.sender, c.room, &got, c.want)
		}
	}
}

func letter(d Decision) string {
	switch d {
	case Decision{Heard: true, Reply: true, Reason: d.Reason}:
		return "R"
	case Decision{Heard: true, Reason: d.Reason}:
		return "h"
	case Decision{Pair: true, Reason: ReasonUnknown}:
		return "p"
	case Decision{Told: true, Reason: ReasonUnknown}:
		return "t"
	case Decision{Heard: true, Told: true, Reason: ReasonOwnerOnly}:
		return "o"
	case Decision{Reason: d.Reason}:
		return "-"
	}
	return fmt.Sprint(d)
}

// Without a list in the file, the settings say who is heard.
func TestDecideBySettings(t *testing.T) {
	for _, c := range []struct {
		file, sender string
		settings     []string
		heard        bool
	}{
		{"", "@a:x", nil, false},
		{"", "@owner:x", nil, true},
		{"", "@a:x", []string{"@a:x"}, true},
		{"", "@a:x", []string{"@*:x"}, true},
		{"", "@a:x", []string{"@*:*"}, true},
		{"", "a:x", []string{"@*:*"}, false},
		{"", "@a:x", []string{"@*:y", "@A:x", "@a:"}, false},
		{"defaults: {block: ['@a:x']}", "@a:x", []string{"@*:*"}, false},
		{"defaults: {block: ['@*:x']}", "@a:x", []string{"@a:x"}, false},
		{"defaults: {block: ['@*:*']}", "@owner:x", nil, true},
		{"defaults: {allow: []}", "@a:x", []string{"@a:x"}, false},
		{"defaults: {allow: []}", "@owner:x", nil, true},
		{"defaults: {allow: ['@*:*']}", "@a:x", nil, true},
		// One room.
		{"defaults: {allow: []}\nrooms: {'!r:x': {allow: ['@a:x']}}", "@a:x", nil, true},
		{"defaults: {allow: ['@a:x']}\nrooms: {'!r:x': {allow: []}}", "@a:x", nil, false},
		{"defaults: {allow: ['@a:x']}\nrooms: {'!r:x': {reply: all}}", "@a:x", nil, true},
		{"rooms: {'!r:x': {reply: all}}", "@a:x", []string{"@a:x"}, true},
		{"rooms: {'!r:x': {allow: ['@a:x']}, '!other:x': {allow: []}}", "@a:x", nil, true},
		{"rooms: {'!other:x': {allow: ['@a:x'], block: ['@b:x']}}", "@a:x", nil, false},
		{"rooms: {'!other:x': {block: ['@a:x']}}", "@a:x", []string{"@a:x"}, true},
		// Blocked people add up.
		{"defaults: {block: ['@a:x']}\nrooms: {'!r:x': {block: ['@b:x'], allow: ['@*:*']}}", "@a:x", nil, false},
		{"defaults: {block: ['@a:x']}\nrooms: {'!r:x': {block: ['@b:x'], allow: ['@*:*']}}", "@b:x", nil, false},
		{"defaults: {block: ['@a:x']}\nrooms: {'!r:x': {block: [], allow: ['@*:*']}}", "@a:x", nil, false},
		{"defaults: {block: ['@a:x']}\nrooms: {'!s:x': {block: ['@c:x']}, '!r:x': {block: ['@b:x'], allow: ['@*:*']}}", "@c:x", nil, true},
	} {
		p, err := Parse([]byte(c.file))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		q := Query{Room: "!r:x", Sender: c.sender, Owners: []string{"@owner:x"}, Allow: c.settings}
		if p.Heard(q) != c.heard {
			t.Errorf("%q, settings %q: %s is heard: %v", c.file, c.settings, c.sender, !c.heard)
		}
	}
}

func TestDecideTellsWhy(t *testing.T) {
	p, err := Parse([]byte(people5))
	if err != nil {
		t.Fatal(err)
	}
	owners := []string{"@owner:x"}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Room: "!all:x", Sender: "@friend:x"}, ReasonAll},
		{Query{Room: "!all:x", Sender: "@friend:x", Mentioned: true}, ReasonMentioned},
		{Query{Room: "!all:x", Sender: "@friend:x", Command: true}, ReasonCommand},
		{Query{Room: "!all:x", Sender: "@both:x"}, ReasonBlocked},
		{Query{Room: "!all:x", Sender: "@stranger:x"}, ReasonUnknown},
		{Query{Room: "!mention:x", Sender: "@friend:x"}, ReasonNotMentioned},
		{Query{Room: "!owner:x", Sender: "@friend:x", Mentioned: true}, ReasonOwnerOnly},
		{Query{Room: "!owner:x", Sender: "@owner:x"}, ReasonOwner},
		{Query{Room: "!off:x", Sender: "@owner:x", Mentioned: true}, ReasonOff},
	} {
		c.q.Owners = owners
		if got := p.Decide(c.q).Reason; got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
}

// Without a file, and with the zero value, the settings say who is heard.
func TestDecideWithoutFile(t *testing.T) {
	for _, p := range []*Policy{nil, {}} {
		if d := p.Decide(Query{Room: "!r:x", Sender: "@a:x", Allow: []string{"@a:x"}, Direct: true, Alone: true}); !d.Reply {
			t.Errorf("%+v", d)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	var file strings.Builder
	file.WriteString("defaults:\n  allow:\n")
	for i := range MaxPeople {
		fmt.Fprintf(&file, "    - \"@user%d:example.org\"\n", i)
	}
	file.WriteString("rooms:\n")
	for i := range 500 {
		fmt.Fprintf(&file, "  \"!room%d:example.org\": {reply: all, block: [\"@*:spam.example\"]}\n", i)
	}
	p, err := Parse([]byte(file.String()))
	if err != nil {
		b.Fatal(err)
	}
	q := Query{Room: "!room77:example.org", Sender: "@user777:example.org", Owners: []string{"@owner:example.org"}}
	b.ReportAllocs()
	for b.Loop() {
		if !p.Decide(q).Reply {
			b.Fatal("no reply")
		}
	}
}
