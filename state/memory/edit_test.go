package memory

import (
	"strings"
	"testing"
	"time"
)

// saidBy is a conversation with one message, and what a task has left of it.
func saidBy(event, text string) []Document {
	entry := []Entry{{From: 1, To: 1, Time: day(time.March, 1), Text: text, Event: event}}
	return []Document{
		{Source: SourceTranscript, Path: "conversation/" + event, Origin: OriginTask, Entries: entry},
		{Source: SourceExecution, Path: "execution/" + event, Origin: OriginTask, Entries: []Entry{{From: 1, To: 1, Time: day(time.March, 1), Text: "Command: " + text, Event: event, Alone: true}}},
	}
}

// Of two messages that say the same, the one that stays can still be found, told and stored.
func TestRedactOneOfTwo(t *testing.T) {
	x := openIn(t, t.TempDir())
	line := Line{Path: "MEMORY.md", Text: "fact: deploy the shop"}
	for _, event := range []string{"$1", "$2"} {
		line.Event = event
		docs := append(saidBy(event, "deploy the shop"), Document{Source: SourceNote, Path: "fact/" + event, Origin: "fact", Entries: []Entry{{From: 1, To: 1, Text: line.Text, Event: event, Alone: true}}})
		_, err := x.Learn(t.Context(), docs, []Line{line})
		must(t, err)
	}
	_, err := x.Redact(t.Context(), "$2")
	must(t, err)
	gone, err := x.Forgotten(t.Context())
	must(t, err)
	if gone.Text("deploy the shop") || gone.Text("Command: deploy the shop") || gone.Event("$1") || !gone.Event("$2") {
		t.Error("what another message says is forgotten")
	}
	lines, err := x.Unsettled(t.Context())
	if must(t, err); len(lines) != 1 || lines[0].Event != "$1" {
		t.Errorf("lines %+v", lines)
	}
	if _, err := x.Put(t.Context(), saidBy("$3", "deploy the shop")...); err != nil || len(find(t, x, "deploy the shop")) == 0 {
		t.Errorf("stored again: %v", err)
	}
	for _, event := range []string{"$1", "$3"} {
		_, err := x.Redact(t.Context(), event)
		must(t, err)
	}
	before := gone.Sum()
	gone, err = x.Forgotten(t.Context())
	must(t, err)
	lines, err = x.Unsettled(t.Context())
	if must(t, err); before == gone.Sum() || !gone.Text("deploy the shop") || !gone.Text(line.Text) || len(lines) > 0 {
		t.Errorf("nobody says it any more: %+v", lines)
	}
	wantNothing(t, x, "deploy the shop")
}

// A line that is edited while the files are written is not taken for the one that they have now.
func TestSettleAfterEdit(t *testing.T) {
	x := openIn(t, t.TempDir())
	log := Line{Event: "$1", Path: "memory/2026-03-01.md", Text: "alice: write a list → listed"}
	_, err := x.Learn(t.Context(), saidBy("$1", "write a list"), []Line{log})
	must(t, err)
	written, err := x.Unsettled(t.Context())
	must(t, err)
	_, err = x.Edit(t.Context(), Edit{Event: "$1", Text: "write a list of doors", Amend: func(_ Source, text string, _ bool) string {
		return strings.Replace(text, "write a list", "write a list of doors", 1)
	}})
	must(t, err)
	must(t, x.Settle(t.Context(), written))
	lines, err := x.Unsettled(t.Context())
	if must(t, err); len(lines) != 1 || lines[0].Text != "alice: write a list of doors → listed" {
		t.Errorf("lines %+v", lines)
	}
	gone, err := x.Forgotten(t.Context())
	if must(t, err); !gone.Text(log.Text) {
		t.Error("the file would keep the old line")
	}
}
