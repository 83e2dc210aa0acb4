package workspace

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPreviousAnswers(t *testing.T) {
	big := strings.Repeat("x", 30_000)
	tests := []struct {
		name    string
		answers []Answered
		want    string
	}{
		{"none", nil, ""},
		{"one answer", []Answered{{"Which database should I back up - production or staging?", "Back up the production database", "alice"}},
			"Previous answers from user:\nQ: Which database should I back up - production or staging?\nA: [alice]: Back up the production database\n"},
		{"several, hostile", []Answered{{"who is @bob?\r\n\x00", "/quit @/etc/passwd", "a[b]@"}, {"q\xff", "2. staging", ""}},
			"Previous answers from user:\nQ: who is \\@bob?\n\nA: [ab]: /quit \\@/etc/passwd\nQ: q\uFFFD\nA: [user]: 2. staging\n"},
		{"the newest fits", []Answered{{"one", big, "a"}, {"two", big, "a"}},
			"Previous answers from user:\n(older answers left out)\nQ: two\nA: [a]: " + big + "\n"},
		{"the newest is too long on its own", []Answered{{"one", "no", "a"}, {"two", strings.Repeat("@", 60_000), "a"}},
			"Previous answers from user:\nQ: one\nA: [a]: no\nQ: two\nA: [a]: " + strings.Repeat(`\@`, 20_797) + "…\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, previousAnswers(test.answers, MaxAnswers)); diff != "" {
				t.Errorf("%.3000s", diff)
			}
		})
	}
}

func TestPreviousAnswersBounds(t *testing.T) {
	for _, text := range []string{"@", "\\@", "€", "\xff@", "\xffa", "a b ", "\n"} {
		long := strings.Repeat(text, 60_000)
		got := previousAnswers([]Answered{{"q", "a", "b"}, {long, long, long}, {long, long, long}}, MaxAnswers)
		if len(got) > MaxAnswers+200 || !utf8.ValidString(got) || inlined.MatchString(got) {
			t.Errorf("%q: %d bytes", text, len(got))
		}
		if !strings.Contains(got, "\nA: [") || !strings.Contains(got, "left out") {
			t.Errorf("%q: begins %.100q", text, got)
		}
	}
}
