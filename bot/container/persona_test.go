package container

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPersonaFiles(t *testing.T) {
	for _, c := range []struct {
		name, out string
		want      map[string]string
	}{
		{"none", "", map[string]string{}},
		{"two", "SOUL.md 5\nlines\nUSER.md 3\na\nb\n", map[string]string{"SOUL.md": "lines", "USER.md": "a\nb"}},
		{"empty", "SOUL.md 0\n\n", map[string]string{"SOUL.md": ""}},
		{"an unknown file", "evil 2\nhi\nSOUL.md 1\nx\n", map[string]string{"SOUL.md": "x"}},
		{"size too large", "SOUL.md 500\nshort\n", map[string]string{}},
		{"negative", "SOUL.md -1\nx\n", map[string]string{}},
		{"no header", "anything at all", map[string]string{}},
	} {
		if diff := cmp.Diff(c.want, personaFiles([]byte(c.out))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func FuzzPersonaFiles(f *testing.F) {
	f.Add([]byte("SOUL.md 5\nlines\nUSER.md 3\na\nb\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, text := range personaFiles(out) {
			if len(text) > len(out) {
				t.Error("a file is larger than the output")
			}
		}
	})
}
