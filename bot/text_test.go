package bot

import (
	"testing"
	"time"
)

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 59 * time.Second: "59 s", 185 * time.Second: "3 min 5 s", 7440 * time.Second: "2 h 4 min",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short", "short"}, {"exactly 10", "exactly 10"}, {"longer than 10", "longer …"}, {"éééééééééé", "ééé …"},
	} {
		if got := cut(c.text, 10); got != c.want {
			t.Errorf("cut(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
