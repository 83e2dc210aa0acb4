package task

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/media"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// The prompt of a resumed session mentions only the files that it does not know.
func TestPromptFiles(t *testing.T) {
	const answer = media.InboxDir + "/c-c"
	asked := &execution.Execution{Answers: []execution.Answer{{Answer: answer, Event: "$c"}}}
	files := []state.File{{Event: "$e1"}, {Event: "$a"}, {Event: "$b"}, {Event: "$c"}}
	for i := range files {
		files[i].Path = files[i].Event
	}
	steer := []state.Said{{Event: "$a", File: true}, {Event: "$x"}, {Event: "$b", File: true}}
	for _, c := range []struct {
		name    string
		rec     state.Details
		asked   *execution.Execution
		resumed bool
		want    string
	}{
		{"a new session", state.Details{Files: files, Said: steer, Told: 2}, asked, false, "$e1 $a $b $c"},
		{"steered", state.Details{Files: files, Said: steer, Told: 2}, &execution.Execution{}, true, "$b"},
		{"all files are new", state.Details{Files: files[:3], Said: steer}, &execution.Execution{}, true, "$e1 $a $b"},
		{"answered", state.Details{Files: files, Said: steer, Told: 3}, asked, true, "$c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := &Task{exec: c.asked, rec: state.Task{Event: "$e1", HasFile: true, Details: c.rec}}
			var got []string
			for _, f := range promptFiles(task, c.resumed) {
				got = append(got, f.Path)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"$e1", "$a", "$b"}, fileEvents(task)[:3]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpokenWithFiles(t *testing.T) {
	task := &Task{text: FileCame, rec: state.Task{Details: state.Details{Said: []state.Said{
		{File: true, Joined: true}, {Text: "look at both", Joined: true}, {File: true},
	}}}}
	text, later := spoken(task)
	if diff := cmp.Diff("A file came.\nlook at both", text); diff != "" {
		t.Error(diff)
	}
	if len(later) != 1 || WordsOf(later[0]) != FileCame {
		t.Errorf("later: %v", later)
	}
}

func TestRefusedText(t *testing.T) {
	if got := refusedText(nil); got != "" {
		t.Errorf("without files: %q", got)
	}
	want := "Not everything in the outbox was sent:\n\n- `a_b` is a link.\n- 3 others stay."
	if diff := cmp.Diff(want, refusedText([]media.Refusal{{Name: "a_b", Why: "is a link"}, {Why: "3 others stay"}})); diff != "" {
		t.Error(diff)
	}
}
