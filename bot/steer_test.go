package bot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a run is told: parts that came right behind the task belong to it, what
// was said later is told once a session.
func TestSpoken(t *testing.T) {
	part, later := steerText{Text: "and a list", Joined: true}, steerText{Text: "only half"}
	for _, c := range []struct {
		name   string
		rec    record
		text   string
		spoken []string
	}{
		{"nothing", record{}, "write", nil},
		{"a part, before the first run", record{Steer: []steerText{part}}, "write\nand a list", nil},
		{"steered, in the session that goes on", record{Resume: true, Told: 1, Steer: []steerText{part, later}}, "write", []string{"only half"}},
		{"steered, in a new session", record{Told: 1, Steer: []steerText{part, later}}, "write\nand a list", []string{"only half"}},
		{"told already", record{Resume: true, Told: 2, Steer: []steerText{part, later}}, "write", nil},
	} {
		task := &task{text: "write", rec: c.rec}
		text, said := task.spoken()
		var words []string
		for _, one := range said {
			words = append(words, one.Text)
		}
		if text != c.text || !cmp.Equal(words, c.spoken) {
			t.Errorf("%s: %q and %q; want %q and %q", c.name, text, words, c.text, c.spoken)
		}
	}
}
