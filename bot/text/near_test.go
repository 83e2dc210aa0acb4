package text

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"stop", "stop", 0}, {"stpo", "stop", 1}, {"top", "stop", 1}, {"stopp", "stop", 1}, {"shop", "stop", 1}, {"abc", "", 3}, {"help", "stop", 3}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
