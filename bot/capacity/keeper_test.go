package capacity

import (
	"strings"
	"testing"
	"time"
)

func TestChoose(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	ago := func(name string, d time.Duration) container {
		return container{name: name, room: "!" + name, used: now.Add(-d)}
	}
	works := func(c container) container { c.works = true; return c }
	asks := func(c container) container { c.asks = true; return c }
	for name, c := range map[string]struct {
		all           []container
		idle          time.Duration
		max           int
		unused, extra string
	}{
		"nothing runs":               {nil, time.Hour, 1, "", ""},
		"idle ones, longest first":   {[]container{ago("new", time.Minute), ago("b", 2*time.Hour), ago("a", 3*time.Hour)}, time.Hour, 9, "a b", ""},
		"never":                      {[]container{ago("a", 1000*time.Hour)}, 0, 9, "", ""},
		"a task, or a question":      {[]container{works(ago("a", 9*time.Hour)), asks(ago("b", 9*time.Hour)), ago("c", 9*time.Hour)}, time.Hour, 9, "c", ""},
		"within the limit":           {[]container{ago("a", time.Minute), ago("b", time.Minute)}, time.Hour, 2, "", ""},
		"beyond it, longest first":   {[]container{ago("a", time.Minute), ago("b", 3*time.Minute), ago("c", 2*time.Minute)}, 0, 2, "", "b c a"},
		"idle ones make enough room": {[]container{ago("a", time.Minute), ago("b", 3*time.Hour), ago("c", 2*time.Minute)}, time.Hour, 2, "b", ""},
		"questions come last":        {[]container{asks(ago("a", 9*time.Minute)), ago("b", time.Minute), works(ago("c", time.Hour))}, time.Hour, 1, "", "b a"},
		"just used":                  {[]container{ago("a", time.Second), ago("b", time.Minute)}, 0, 1, "", "b"},
		"a clock that was set back":  {[]container{ago("a", -time.Hour), ago("b", time.Minute)}, time.Minute, 1, "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			unused, extra := choose(c.all, now, c.idle, c.max)
			if got := names(unused); got != c.unused {
				t.Errorf("unused: %q, want %q", got, c.unused)
			}
			if got := names(extra); got != c.extra {
				t.Errorf("extra: %q, want %q", got, c.extra)
			}
		})
	}
}

func names(all []container) string {
	var list []string
	for _, one := range all {
		list = append(list, one.name)
	}
	return strings.Join(list, " ")
}

func TestDefaultFor(t *testing.T) {
	for _, c := range []struct {
		memory         uint64
		keyrings, want int
	}{
		{512 << 20, 0, 8}, {2 << 30, 0, 16}, {8 << 30, 0, 64}, {64 << 30, 0, 512},
		{64 << 30, 200, 180}, {2 << 30, 200, 16}, {64 << 30, 20000, 512}, {2 << 30, 4, 8},
	} {
		if got := defaultFor(c.memory, c.keyrings); got != c.want {
			t.Errorf("defaultFor(%d, %d) = %d, want %d", c.memory, c.keyrings, got, c.want)
		}
	}
}
