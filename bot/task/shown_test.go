package task

import (
	"testing"

	"matrix-tui/bot/text"
	"matrix-tui/state"
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

// A reaction is sent once, and taken back only if the room has it.
func TestNeeded(t *testing.T) {
	env, _ := forgetful(t, "x", "y")
	task := env.Task(state.Task{Key: "k", Room: "!r", Home: "!r", Event: "$1"})
	voice := task.Voice()
	for _, want := range []int{1, 1, 0} { // 👀; what takes ⏳ back; nothing
		needed, err := task.needed(t.Context(), voice.started())
		if err != nil || len(needed) != want {
			t.Fatalf("%+v, %v, want %d", needed, err, want)
		}
		said := []state.Message{}
		for _, m := range needed {
			m.Room = "!r"
			said = append(said, m.Message)
		}
		if want == 1 && needed[0].Kind == state.KindReaction {
			queued := voice.Queued().Message
			queued.Room = "!r"
			said = append(said, queued)
		}
		if err := env.Journal.Messages.Queue(t.Context(), said...); err != nil {
			t.Fatal(err)
		}
	}
}
