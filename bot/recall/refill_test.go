package recall

import (
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/memory"
)

// An index that is lost after upgrades of the room gets back what was said before them.
func TestRefillAfterUpgrades(t *testing.T) {
	m := newMemory(t)
	transcripts, err := state.OpenTranscripts(m.dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"!a": "the ferry is green", "!b": "the otter is brown", "!c": "the walrus is grey", "!other": "the badger is striped"}
	for room, text := range said {
		err := transcripts.Begin(room, "$"+room, "remember something")
		if err == nil {
			err = transcripts.Append(room, state.Line{Kind: state.KindUser, Event: "$" + room, Text: text, Time: time.Now()})
		}
		if err == nil {
			err = m.store.SetContainer(t.Context(), room, "sandbox-"+room[1:])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	learn(t, m, Task{Room: "!a", ID: "1", Event: "$!a", By: "ann", Said: []Said{{Event: "$!a", By: "ann", Text: said["!a"]}}, Result: "Noted.", Success: true, Began: time.Now(), Ended: time.Now()})
	for _, move := range [][2]string{{"!a", "!b"}, {"!b", "!c"}} {
		if err := m.store.DropContainer(t.Context(), move[1]); err != nil {
			t.Fatal(err)
		}
		if err := m.Move(t.Context(), move[0], move[1]); err != nil {
			t.Fatal(err)
		}
		if err := m.store.MoveRoom(t.Context(), move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	found := func(query string) (n int) {
		t.Helper()
		err := m.with(t.Context(), "!c", func(x *memory.Index) error {
			hits, err := x.Search(t.Context(), memory.Query{Text: query, Sources: []memory.Source{memory.SourceTranscript}})
			n = len(hits)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := found("green ferry"); n != 1 {
		t.Errorf("%d conversations about the ferry before the loss", n)
	}
	if err := os.Remove(memory.Path(m.dir, "!c")); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"green ferry": 1, "brown otter": 1, "grey walrus": 1, "striped badger": 0} {
		if n := found(query); n != want {
			t.Errorf("%s: %d conversations, want %d", query, n, want)
		}
	}
}

// A room whose ID was chosen so that its container would have the name of another one's learns nothing from there.
func TestRefillOfSameName(t *testing.T) {
	m := newMemory(t)
	transcripts, err := state.OpenTranscripts(m.dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	one, other := "!same:host40029.example", "!same:host40484.example"
	if err := transcripts.Begin(one, "$1", "the ferry is green"); err != nil {
		t.Fatal(err)
	}
	for room, want := range map[string]int{one: 1, other: 0} {
		if docs, err := m.transcribed(room); len(docs) != want || err != nil {
			t.Errorf("%s: %d conversations, want %d, %v", room, len(docs), want, err)
		}
	}
}
