package memory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTopics(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"what is it?", nil},
		{"Please back up the database", []string{"back", "database"}},
		{"Write a prime checker, then test the checker and its tests with pytest on Debian", []string{"write", "prime", "checker", "test", "pytest"}},
		{"the key is hunter2 or AIza0123456789", []string{"key"}},
		{"Schreibe bitte ein Gedicht über Möwen", []string{"schreibe", "gedicht", "uber", "mowen"}},
	} {
		got := Topics(c.text, 5)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
	if got := Topics(strings.Repeat("wörd ", 1<<20), 5); len(got) != 1 {
		t.Errorf("a long text: %d", len(got))
	}
}
