package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPutReplaces(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, SourceNote, "MEMORY.md", "# Notes\n\n## Deploys\n\n- We deploy from the release branch.\n\n## Food\n\n- Ann is allergic to peanuts.\n")
	wantFirst(t, x, "Which branch do we deploy from?", "release branch")
	put(t, x, SourceNote, "MEMORY.md", "# Notes\n\n## Deploys\n\n- We deploy from the release branch.\n\n## Food\n\n- Ann likes walnuts.\n")
	wantNothing(t, x, "peanuts")
	wantFirst(t, x, "walnut", "Ann likes")
	put(t, x, SourceNote, "MEMORY.md", "")
	wantNothing(t, x, "walnut")
}

func TestStatusRead(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, SourceLog, "memory/2026-01-01.md", "- first\n- second\n- third\n")
	put(t, x, SourceLog, "memory/2026-02-01.md", "- last\n")
	s, err := x.Status(t.Context())
	must(t, err)
	if s.Room != den || s.Documents != 2 || s.Entries != 4 || s.Sources[SourceLog] != 4 || s.Bytes == 0 || s.Changed.IsZero() {
		t.Errorf("status %+v", s)
	}
	read, err := x.Read(t.Context(), "memory/2026-01-01.md", 2, 2)
	if must(t, err); textOf(read) != "- second\n- third" || read[0].From != 2 || read[1].To != 3 {
		t.Errorf("read %+v", read)
	}
	if _, err := x.Read(t.Context(), "nothing", 1, 1); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestTwoProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			x, err := Open(context.Background(), dir, den) // the first one creates the file
			if err != nil {
				t.Error(err)
				return
			}
			for range 10 {
				if err := x.Put(context.Background(), document(SourceLog, fmt.Sprint(i), strings.Repeat("walrus ", i+1))); err != nil {
					t.Error(err)
				}
				if _, err := x.Search(context.Background(), Query{Text: "walrus"}); err != nil {
					t.Error(err)
				}
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	x := openIn(t, dir)
	s, err := x.Status(t.Context())
	if must(t, err); s.Entries != 4 {
		t.Errorf("%d entries, want 4", s.Entries)
	}
}

// A room that is nearly full loses what was said first and what was done first; the record has it. Nothing else goes,
// and other rooms are not touched.
func TestRoomIsBounded(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	other, err := Open(t.Context(), dir, "!other:x")
	must(t, err)
	defer other.Close()
	note(t, x, "fact", "The otter is called Emil.")
	put(t, x, SourceNote, "MEMORY.md", "- a walrus")
	var docs []Document
	for i := range 1000 {
		docs = append(docs, Document{Source: SourceTranscript, Path: fmt.Sprint("conversation/", i), Entries: []Entry{
			{From: 1, To: 1, Time: day(1, 1).Add(time.Duration(i) * time.Hour), Text: fmt.Sprintf("topic%d %s", i, strings.Repeat("word ", 200))}}})
	}
	for _, x := range []*Index{x, other} {
		err = x.Put(t.Context(), docs...)
		must(t, err)
	}
	finish := func(chunks, bytes float64) error {
		return x.write(t.Context(), "finish", func(w *writer) error { return w.finish(chunks, bytes) })
	}
	must(t, finish(maxChunks, 600<<10))
	s, err := x.Status(t.Context())
	if must(t, err); s.Bytes > 540<<10 || s.Entries < 400 || s.Entries > 602 || s.Documents != s.Entries {
		t.Errorf("after the text: %+v", s)
	}
	must(t, finish(300, MaxText))
	s, err = x.Status(t.Context())
	if must(t, err); s.Chunks > 270 || s.Chunks < 100 {
		t.Errorf("after the chunks: %+v", s)
	}
	wantFirst(t, x, "otter", "Emil")
	wantFirst(t, x, "walrus", "walrus")
	wantFirst(t, x, "topic999", "topic999")
	if all := strings.Join(find(t, x, "topic1"), "\n"); strings.Contains(all, "topic1 ") {
		t.Error("the oldest is still there")
	}
	if s, err := other.Status(t.Context()); err != nil || s.Chunks != 1000 {
		t.Errorf("another room: %+v, %v", s, err)
	}
	must(t, finish(2.1, MaxText)) // what only people have written
	err = finish(1.9, MaxText)
	if !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	wantSentence(t, err, "is full")
	wantFirst(t, x, "walrus", "a walrus")
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	tx, err := x.db.Begin() // immediate: it holds the write lock
	must(t, err)
	other := openIn(t, dir)
	_, err = other.db.Exec("PRAGMA busy_timeout = 50")
	must(t, err)
	err = other.Put(t.Context(), document(SourceNote, "MEMORY.md", "x y"))
	if !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	wantSentence(t, err, "keeps")
	wantNothing(t, other, "walrus") // a search needs no lock
	if !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	must(t, tx.Rollback())
}

func TestGivenIsBounded(t *testing.T) {
	x := openIn(t, t.TempDir())
	var ids []string
	for i := range maxGiven + 10 {
		ids = append(ids, fmt.Sprint(i))
	}
	must(t, x.Give(t.Context(), "s", ids...))
	must(t, x.Give(t.Context(), "t", ids[:1]...))
	given, err := x.Given(t.Context(), "s")
	if must(t, err); len(given) != maxGiven-1 || given["10"] || !given[ids[len(ids)-1]] {
		t.Errorf("%d were given", len(given))
	}
}
