package bot

import "testing"

func TestMisspelt(t *testing.T) {
	for text, want := range map[string]string{
		"!hlep": "help", "!Stpo": "stop", "!answr production": "answer", "!polic": "policy", "!status": "", "!task": "",
		"!important": "", "!": "", "stpo": "", "!go": "", "!!": "", "!stopp the server": "stop",
	} {
		if got := misspelt(text); got != want {
			t.Errorf("%q means %q, want %q", text, got, want)
		}
	}
}

func TestSlips(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"stop", "stop", 0}, {"stpo", "stop", 1}, {"top", "stop", 1}, {"stopp", "stop", 1}, {"shop", "stop", 1}, {"abc", "", 3}, {"help", "stop", 3}} {
		if got := Slips(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
