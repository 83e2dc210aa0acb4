package task

import (
	"testing"

	"matrix-tui/bot/text"
)

func TestNoticeLinksToPage(t *testing.T) {
	for _, c := range []struct{ page, notice, want string }{
		{"https://x/t/1", text.Working + " · 3 s", "⏳ [Working on it](https://x/t/1) · 3 s"},
		{"", text.Working + " · 3 s", text.Working + " · 3 s"},
		{"https://x/t/1", "⏳ Queued: waiting …", "⏳ Queued: waiting …"},
	} {
		if got := (place{page: c.page}).linked(c.notice); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
