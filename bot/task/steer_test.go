package task

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state"
)

// Messages that joined the task belong to its text; each session gets later messages once.
func TestSpoken(t *testing.T) {
	part, later := state.Said{Text: "and a list", Joined: true}, state.Said{Text: "only half"}
	for _, c := range []struct {
		name   string
		rec    state.Task
		text   string
		spoken []string
	}{
		{"nothing", state.Task{}, "write", nil},
		{"a joined message before the first run", state.Task{Details: state.Details{Said: []state.Said{part}}}, "write\nand a list", nil},
		{"a later message, in the resumed session", state.Task{Resume: true, Details: state.Details{Told: 1, Said: []state.Said{part, later}}}, "write", []string{"only half"}},
		{"a later message, in a new session", state.Task{Details: state.Details{Told: 1, Said: []state.Said{part, later}}}, "write\nand a list", []string{"only half"}},
		{"the session has everything", state.Task{Resume: true, Details: state.Details{Told: 2, Said: []state.Said{part, later}}}, "write", nil},
	} {
		task := &Task{text: "write", rec: c.rec}
		text, said := spoken(task)
		var words []string
		for _, one := range said {
			words = append(words, one.Text)
		}
		if text != c.text || !cmp.Equal(words, c.spoken) {
			t.Errorf("%s: %q and %q; want %q and %q", c.name, text, words, c.text, c.spoken)
		}
	}
}
