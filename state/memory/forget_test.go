package memory

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// wantInFile fails unless the file contains a text, or does not.
func wantInFile(t *testing.T, dir, text string, want bool) {
	t.Helper()
	found := false
	for _, end := range []string{"", "-wal"} {
		data, _ := os.ReadFile(Path(dir) + end)
		found = found || strings.Contains(string(data), text)
	}
	if found != want {
		t.Errorf("the file contains %q: %v, want %v", text, found, want)
	}
}

func TestForget(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	put(t, x, SourceMemory, "MEMORY.md", "- The wifi password is swordfish.\n- The printer is on floor two.\n")
	put(t, x, SourceLog, "memory/2026-01-01.md", "- noted: the WIFI   password is swordfish.\n- watered the plants\n")
	imported(t, x, "a.jsonl", `{"name":"ann","content":"the wifi password is swordfish."}`)
	_, err := x.Put(t.Context(), saidBy("$1", "the wifi password is Swordfish, I think")...)
	must(t, err)
	wantInFile(t, dir, "swordfish", true)
	removed, err := x.Forget(t.Context(), "WiFi password is  swordfish")
	must(t, err)
	if len(removed) != 5 || removed[3].Event != "$1" || removed[3].Path != "conversation/$1" || removed[0].Text != "- The wifi password is swordfish." {
		t.Errorf("removed %+v", removed)
	}
	wantNothing(t, x, "swordfish")
	wantFirst(t, x, "printer", "floor two")
	must(t, x.Close())
	wantInFile(t, dir, "swordfish", false)
	wantInFile(t, dir, "Swordfish", false)
	wantInFile(t, dir, "swordfish"[:6], false) // nor its stem
	x = openIn(t, dir)
	if !put(t, x, SourceMemory, "MEMORY.md", "- The wifi password is swordfish.\n- The printer is on floor two.\n") {
		t.Error("a document of which something was forgotten is not stored again")
	}
	for _, text := range []string{" a ", "", "nothing like it"} {
		if _, err := x.Forget(t.Context(), text); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A text of any length is forgotten, also one that is in several entries.
func TestForgetLongText(t *testing.T) {
	letter := strings.Repeat("We met at the harbour and spoke about ships. ", 400) + "My password is swordfish. " + strings.Repeat("Then we went home. ", 300)
	key := strings.Repeat("k3y", 3000)
	for name, text := range map[string]string{
		"all of it": letter, "over a cut": letter[1000:9000], "a part": "password is swordfish", "a key": "the key " + key + " is", "two items": "first item\n- second item",
	} {
		x := openIn(t, t.TempDir())
		_, err := x.Put(t.Context(), saidBy("$1", letter)...)
		must(t, err)
		_, err = x.Put(t.Context(), saidBy("$2", "the key "+key+" is secret")...)
		must(t, err)
		put(t, x, SourceMemory, "MEMORY.md", "- First item\n- second   item\n- third item\n")
		removed, err := x.Forget(t.Context(), text)
		must(t, err)
		if _, err := x.Forget(t.Context(), text); !errors.Is(err, ErrNotFound) || len(removed) == 0 {
			t.Errorf("%s: %d removed, then %v", name, len(removed), err)
		}
		if name == "all of it" {
			wantNothing(t, x, "harbour")
		}
		wantFirst(t, x, "third", "third item")
	}
}

func TestEntriesOfResult(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, SourceMemory, "MEMORY.md", "## A\n\n- one about ferrets\n- and its food\n\n## B\n\n- another about otters\n")
	hits, err := x.Search(t.Context(), Query{Text: "ferret"})
	must(t, err)
	entries, err := x.Entries(t.Context(), " "+hits[0].ID)
	if must(t, err); len(entries) != 2 || entries[0].Text != "- one about ferrets" {
		t.Errorf("entries %+v", entries)
	}
	_, err = x.Forget(t.Context(), "ferrets")
	must(t, err)
	for _, id := range []string{hits[0].ID, "", "zz", "' OR 1 --"} {
		if entries, err := x.Entries(t.Context(), id); err != nil || len(entries) > 0 {
			t.Errorf("ID %q: %+v, %v", id, entries, err)
		}
	}
}

// saidBy is a conversation with one message, and what a task has left of it.
func saidBy(event, text string) []Document {
	entry := []Entry{{From: 1, To: 1, Time: day(time.March, 1), Text: text, Event: event}}
	return []Document{
		{Source: SourceTranscript, Path: "conversation/" + event, Entries: entry},
		{Source: SourceExecution, Path: "execution/" + event, Entries: []Entry{{From: 1, To: 1, Time: day(time.March, 1), Text: "Command: " + text, Event: event, Alone: true}}},
	}
}

// A message that is deleted goes with what comes from it. Of two that say the same, the other stays.
func TestRemoveEvent(t *testing.T) {
	x := openIn(t, t.TempDir())
	for _, event := range []string{"$1", "$2"} {
		_, err := x.Put(t.Context(), saidBy(event, "deploy the shop")...)
		must(t, err)
	}
	removed, err := x.RemoveEvent(t.Context(), "$2")
	if must(t, err); len(removed) != 2 || removed[0].Source != SourceTranscript || removed[0].Event != "$2" {
		t.Errorf("removed %+v", removed)
	}
	s, err := x.Status(t.Context())
	if must(t, err); s.Entries != 2 || s.Documents != 2 || len(find(t, x, "deploy the shop")) == 0 {
		t.Errorf("status %+v", s)
	}
	for _, event := range []string{"$2", "", "$3"} {
		if removed, err := x.RemoveEvent(t.Context(), event); err != nil || len(removed) > 0 {
			t.Errorf("%q: %+v, %v", event, removed, err)
		}
	}
}
