package roomname

import (
	"regexp"
	"strings"
	"testing"
)

func TestShort(t *testing.T) {
	for room, want := range map[string]string{
		"!abcXYZ:example.org":                          "abcXYZ-bd2ae946",
		"!a_b.c=d:example.org":                         "a-b-c-d-",
		"!" + strings.Repeat("x", 90) + ":h":           strings.Repeat("x", 40) + "-",
		"!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM": "31hneApxJ-1o-63DmFrpeqnkFfWppnzWso1JvH3o-303086d5",
		"!ünïcode:h":                                   "n-code-",
		"!:h":                                          "",
		"":                                             "e3b0c442",
	} {
		got := Short(room)
		if !strings.HasPrefix(got, want) || len(got) > 40+1+8 {
			t.Errorf("%q: %s, want %s…", room, got, want)
		}
	}
	if Short("!room:a") == Short("!room:b") {
		t.Error("rooms of two servers share a name")
	}
}

// Somebody who looks for it finds two rooms with the same short name.
func TestWhole(t *testing.T) {
	a, b := "!same:host40029.example", "!same:host40484.example"
	if Short(a) != Short(b) || !strings.HasPrefix(Whole(a), Short(a)) || Whole(a) == Whole(b) {
		t.Errorf("%s %s, %s %s", Short(a), Short(b), Whole(a), Whole(b))
	}
}

func FuzzNames(f *testing.F) {
	f.Add("!room:example.org")
	f.Add("!-.-:x")
	valid := regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*$`)
	f.Fuzz(func(t *testing.T, room string) {
		for name, most := range map[string]int{Short(room): 49, Whole(room): 105} {
			if !valid.MatchString(name) || len(name) > most {
				t.Errorf("%q: %s", room, name)
			}
		}
	})
}
