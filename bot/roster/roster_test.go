package roster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirects(t *testing.T) {
	var d Directs
	d.Take(map[string][]string{"@ann:x": {"!a", "!b"}})
	if d.User("!a") != "@ann:x" || d.User("!c") != "" {
		t.Errorf("%q, %q", d.User("!a"), d.User("!c"))
	}
	if _, changed := d.With("@ann:x", "!a"); changed {
		t.Error("what is there is added")
	}
	users, changed := d.With("@bob:x", "!c")
	if diff := cmp.Diff(map[string][]string{"@ann:x": {"!a", "!b"}, "@bob:x": {"!c"}}, users); diff != "" || !changed {
		t.Error(diff)
	}
	if d.User("!c") != "" {
		t.Error("a copy changes the original")
	}
}
