package state

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/disk"
	"matrix-tui/state/event"
	"matrix-tui/state/scrub"
	"matrix-tui/state/transcripts"
)

func TestScrubs(t *testing.T) {
	long := strings.Repeat("word ", 4000) + "pelican  Seventeen"
	for _, c := range []struct {
		name, text, want string
		scrub            *scrub.Scrub
	}{
		{"a whole text", "The code is Pelican\nseventeen.", scrub.Deleted, scrub.Without("pelican seventeen")},
		{"a long one", long, scrub.Deleted, scrub.Without("pelican seventeen")},
		{"another text", "the pelican", "", scrub.Without("pelican seventeen")},
		{"one of several", "b is here", scrub.Deleted, scrub.Without("a is here", "b is here")},
		{"nothing", "x", "", scrub.Without("", " ")},
		{"an edit", "alice: paint the barn red → Done", "alice: paint the shed red → Done", scrub.Replacing("paint the shed", "paint the barn")},
		{"on one line", "asked: paint the barn", "asked: paint the shed", scrub.Replacing("paint the shed", "paint\nthe barn")},
		{"a short word elsewhere", "yes, I do", "", scrub.Replacing("no", "yes")},
		{"a short word alone", "yes", "", scrub.Replacing("no", "yes")},
		{"a longer version", "alice: paint the barn → Done", "alice: paint the barn red → Done", scrub.Replacing("paint the barn red", "paint the barn")},
		{"with more before it", "1. paint the barn\n2. first paint the barn", "1. first paint the barn\n2. first paint the barn", scrub.Replacing("first paint the barn", "paint the barn")},
		{"to nothing", "alice: paint the barn", "alice: ", scrub.Replacing("", "paint the barn")},
		{"a longer version is there already", "paint the barn red", "", scrub.Replacing("paint the barn red", "paint the barn")},
	} {
		if got, hit := c.scrub.Text(c.text); hit != (c.want != "") || got != c.want && hit {
			t.Errorf("%s: %q, %v, want %q", c.name, got, hit, c.want)
		}
	}
}

// Only texts are scrubbed: identifiers, states and times with the same letters stay.
func TestScrubJSON(t *testing.T) {
	const data = `{"session_id":"done-1","state":"done","transcript":["it is done"],"answers":[{"question":"done?","by":"@done:x"}],"n":12345678901234567890}`
	out, was, err := scrub.JSON([]byte(data), scrub.Without("done"))
	if err != nil || len(was) != 2 {
		t.Fatal(string(out), was, err)
	}
	const want = `{"answers":[{"by":"@done:x","question":"(deleted)"}],"n":12345678901234567890,"session_id":"done-1","state":"done","transcript":["(deleted)"]}`
	if diff := cmp.Diff(want, string(bytes.TrimSpace(out))); diff != "" {
		t.Error(diff)
	}
}

// A text is gone from events, tasks with answers and calls, messages, notes, imports, history and transcript; what
// has not ended keeps it. Nothing of it is left in the file.
func TestScrubEverywhere(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	j, err := OpenJournal(ctx, filepath.Join(dir, "journal.db"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	const word = "hunter2-xyzzy"
	said := func(id, text string, status Status) Event {
		m := &event.Message{MsgType: "m.text", Body: text}
		return Event{Status: status, Event: event.Event{Room: "!r", ID: id, Sender: "@a:x", Type: event.TypeMessage, Body: event.Body{Message: m}}}
	}
	if _, err := j.Events.Commit(ctx, "t", []Event{said("$1", "the password is "+word, Done), said("$2", "hello", Done), said("$3", "forget "+word, Pending)}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Memory.AddNotes(ctx, Note{Room: "!r", Kind: Semantic, Text: "it is " + word, Source: Added}, Note{Room: "!r", Kind: Semantic, Text: "something else", Source: Added}); err != nil {
		t.Fatal(err)
	}
	if err := j.Memory.Import(ctx, "!r", "/f", []Imported{{1, time.Unix(1, 0), "ann", "so " + word}, {2, time.Unix(1, 0), "ann", "bye"}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Messages.Queue(ctx, Message{Txn: "m1", Room: "!r", Kind: KindReply, Body: "you said " + word}); err != nil {
		t.Fatal(err)
	}
	if err := j.Messages.MarkSent(ctx, "m1", "$sent"); err != nil {
		t.Fatal(err)
	}
	out, err := j.Removal.Scrub(ctx, "!r", "!r", scrub.Without(word))
	if err != nil || !out.Found || out.Open {
		t.Fatal(out, err)
	}
	one, _ := j.Events.Get(ctx, "!r", "$1")
	two, _ := j.Events.Get(ctx, "!r", "$2")
	if m, _ := one.Message(); m.Body != "" {
		t.Errorf("the event says %q", m.Body)
	}
	if m, _ := two.Message(); m.Body != "hello" {
		t.Errorf("another event says %q", m.Body)
	}
	if notes, err := j.Memory.Notes(ctx, "!r"); err != nil || len(notes) != 1 {
		t.Errorf("notes %+v, %v", notes, err)
	}
	if left, err := j.Memory.Imported(ctx, "!r", "/f"); err != nil || len(left) != 1 {
		t.Errorf("import %+v, %v", left, err)
	}
	if f, err := j.Memory.Forgotten(ctx, "!r"); err != nil || !f.Has("- The password is "+word) || f.Has("hello") {
		t.Errorf("forgotten %v, %v", f, err)
	}
	if untidy, err := j.Memory.Untidy(ctx, "!r"); err != nil || !untidy || j.Memory.Tidied(ctx, "!r") != nil {
		t.Errorf("untidy %v, %v", untidy, err)
	}
	if _, err := j.Removal.Redact(ctx, "!r", "$3", "!r"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Removal.Clear(ctx), j.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "journal.db"))
	if err != nil || bytes.Contains(data, []byte(word)) {
		t.Errorf("the file still has it (%v)", err)
	}

	if j, err = OpenJournal(ctx, filepath.Join(dir, "journal.db"), zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	store, err := OpenStore(ctx, j, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	if err := store.Conversations.Append(ctx, "!r", Turn{Role: "user", Content: "it is " + word, Event: "$1"}, Turn{Role: "assistant", Content: "fine", Event: "$1"}); err != nil {
		t.Fatal(err)
	}
	if found, err := store.Conversations.Scrub(ctx, "!r", scrub.Without(word)); err != nil || !found {
		t.Fatal(found, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(filepath.Join(dir, "state.json")); err != nil || bytes.Contains(data, []byte(word)) || !bytes.Contains(data, []byte("fine")) {
		t.Errorf("state.json: %v\n%s", err, data)
	}
	logs, err := transcripts.Open(dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []transcripts.Line{{Kind: transcripts.KindUser, Event: "$1", Text: word}, {Kind: transcripts.KindTool, Event: "$1", Text: "echo " + word}, {Kind: transcripts.KindAssistant, Event: "$1", Text: "kept"}} {
		if err := logs.Append("!r", line); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := logs.Scrub("!r", scrub.Without(word)); err != nil || !found {
		t.Fatal(found, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "transcripts", "*"))
	if data, err = os.ReadFile(files[0]); err != nil || bytes.Contains(data, []byte(word)) || !bytes.Contains(data, []byte("kept")) {
		t.Errorf("transcript: %v\n%s", err, data)
	}
}

// What others have said stays as it is, but for what is replaced in it: a short text is nobody's alone. A poll says
// something, too. Marks that JSON or white space changes hide nothing.
func TestScrubOthers(t *testing.T) {
	j := newJournal(t)
	was := "paint the \"old\"\n barn <red> & "
	for i, text := range []string{"yes", "Sure. " + was + "tomorrow.", "What is " + was + "?\n1. Yes"} {
		e := Event{Status: Done, Event: event.Event{Room: "!r", ID: "$" + string(rune('1'+i)), Sender: "@b:x", Type: event.TypeMessage}}
		if e.Body.Message = (&event.Message{MsgType: "m.text", Body: text}); i == 2 {
			e.Type = event.TypePoll
		}
		_, err := j.Events.Commit(ctx, "t", []Event{e})
		must(t, err)
	}
	_, err := j.Removal.Scrub(ctx, "!r", "!r", scrub.Replacing(scrub.Deleted, "yes"))
	must(t, err)
	for range 2 {
		_, err = j.Removal.Scrub(ctx, "!r", "!r", scrub.Replacing(scrub.Deleted, "yes", was).Sparing("!r", "$2"))
		must(t, err)
	}
	says := func(want ...string) {
		t.Helper()
		for i, want := range want {
			e, err := j.Events.Get(ctx, "!r", "$"+string(rune('1'+i)))
			must(t, err)
			if m, _ := e.Message(); m.Body != want {
				t.Errorf("message %d says %q, want %q", i+1, m.Body, want)
			}
		}
	}
	says("yes", "Sure. "+was+"tomorrow.", "What is (deleted)?\n1. Yes")
	_, err = j.Removal.Scrub(ctx, "!r", "!r", scrub.Replacing(scrub.Deleted, was))
	must(t, err)
	says("yes", "Sure. (deleted)tomorrow.")
	_, err = j.Removal.Redact(ctx, "!r", "$3", "!r")
	must(t, err)
	says("yes", "Sure. (deleted)tomorrow.", "")
}

func TestNeedle(t *testing.T) {
	for text, want := range map[string]string{
		"one, two": "one, two", "one  and two": "and two", "say \"hello all\"\nnow": "hello all", "\"<>\"": "", "a\u00a0bé c": "bé c",
	} {
		if got := scrub.Needle(text); got != want || !bytes.Contains(disk.JSON(text), []byte(got)) || !strings.Contains(strings.Join(strings.Fields(text), " "), got) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	many := make([]string, 2000)
	for i := range many {
		many[i] = strings.Repeat("x", 12+i)
	}
	if where, _ := scrub.Replacing(scrub.Deleted, many...).Where("body"); where != "" {
		t.Error("a query has too many terms for SQLite")
	}
}

func TestOpenEdits(t *testing.T) {
	j := newJournal(t)
	want := []OpenEdit{{"!a:h", "$1"}, {"!b:h", "$2"}}
	for _, e := range []OpenEdit{want[1], want[0], want[0], {"!a:h", "$3"}} {
		must(t, j.Memory.BeginEdit(ctx, e))
	}
	must(t, j.Memory.EndEdit(ctx, OpenEdit{"!a:h", "$3"}))
	if got, err := j.Memory.OpenEdits(ctx); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
