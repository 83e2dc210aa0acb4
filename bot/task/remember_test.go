package task

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/container"
	"matrix-tui/bot/recall"
	"matrix-tui/state"
	"matrix-tui/state/event"
	"matrix-tui/state/execution"
)

// What a task teaches has the edits of its messages, also those that came while it ran, and also after a restart: they
// are in the journal.
func TestObservedEdits(t *testing.T) {
	j, err := state.OpenJournal(t.Context(), filepath.Join(t.TempDir(), "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	edit := func(of, by, text string, status state.Status) state.Event {
		n++
		m := &event.Message{MsgType: "m.text", Body: "* " + text, NewContent: &event.Text{MsgType: "m.text", Body: text}, RelatesTo: event.Relation{RelType: "m.replace", EventID: of}}
		return state.Event{Status: status, Event: event.Event{Room: "!r", ID: fmt.Sprint("$edit", n), Sender: by, Type: event.TypeMessage, Body: event.Body{Message: m}}}
	}
	fresh, err := j.Events.Commit(t.Context(), "t", []state.Event{
		edit("$task", "@alice:x", "!task paint the barn", state.Done), // before the task: of another room, perhaps
		{Event: event.Event{Room: "!r", ID: "$task", Sender: "@alice:x", Type: event.TypeMessage, Body: event.Body{Message: &event.Message{MsgType: "m.text", Body: "paint"}}}},
		edit("$task", "@alice:x", "!task paint the shed", state.Done),
		edit("$task", "@alice:x", "!task paint the door", state.Pending),
		edit("$task", "@bob:x", "paint the roof", state.Done),
		edit("$said", "@bob:x", "with a brush", state.Done),
		edit("$answer", "@alice:x", "!answer blue", state.Done),
		edit("$answer", "@alice:x", " ", state.Done),
		edit("$file", "@alice:x", "like this", state.Done),
		edit("$other", "@alice:x", "no part of it", state.Done),
		edit("$said", "@bob:x", "with a broom", state.Archived),
	})
	if err != nil {
		t.Fatal(err)
	}
	one := &Task{
		env: newEnv(&Deps{Shared: container.Shared{Journal: j}}, "!r"), text: "paint", exec: &execution.Execution{Answers: []execution.Answer{
			{Question: "Colour?", Answer: "green", By: "@alice:x", Event: "$answer"},
			{Question: "Sure?", Answer: "yes", By: "@alice:x"},
			{Question: "How?", Answer: "so\n/workspace/inbox/file-a.png", By: "@alice:x", Event: "$file"},
		}},
		rec: state.Task{Seq: fresh[1].Seq, Event: "$task", Requester: "@alice:x", Details: state.Details{Said: []state.Said{{Event: "$said", By: "@bob:x", Text: "quickly"}}}},
	}
	got, err := editsOf(t.Context(), one)
	want := []recall.Edit{{Event: "$task", By: "alice", Text: "paint the door"}, {Event: "$said", By: "bob", Text: "with a brush"},
		{Event: "$answer", By: "alice", Text: "blue"}, {Event: "$file", By: "alice", Text: "like this\n/workspace/inbox/file-a.png"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("edits %+v, %v", got, err)
	}
	one.rec.HasFile, one.text = true, FileCame+"\npaint"
	if got, err := editsOf(t.Context(), one); err != nil || got[0].Text != FileCame+"\npaint the door" {
		t.Errorf("edits of a file %+v, %v", got, err)
	}
}

func TestSpokenWords(t *testing.T) {
	for text, want := range map[string]string{
		"!task paint the shed": "paint the shed", " !Answer\nblue ": "blue", "!steer": "", "!tasks": "!tasks", "!memory add x": "!memory add x", "do !task": "do !task",
	} {
		if got := Spoken(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
