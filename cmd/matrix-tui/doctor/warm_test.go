package doctor

import (
	"strings"
	"testing"

	"matrix-tui/cmd/matrix-tui/settings"
)

func TestCheckWarm(t *testing.T) {
	for _, c := range []struct {
		setting int // -1 = unset
		suits   int
		text    string
	}{
		{-1, 0, "none, because the host has little memory"},
		{0, 8, "none (WARM_AGENTS)"},
		{-1, 8, "in up to 8 rooms, which takes up to 1.3 GB"},
		{2, 8, "in up to 2 rooms, which takes up to 340 MB"},
		{9, 1, "the host's memory suits 1"},
	} {
		var setting *settings.Agents
		if n := settings.Agents(c.setting); n >= 0 {
			setting = &n
		}
		if got := checkWarm(setting, c.suits); got.bad || !strings.Contains(got.text, c.text) {
			t.Errorf("%d of %d: %v", c.setting, c.suits, got)
		}
	}
}
