package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPutIndexesWhatChanged(t *testing.T) {
	x := openIn(t, t.TempDir())
	if !put(t, x, SourceMemory, "MEMORY.md", "# Notes\n\n## Deploys\n\n- We deploy from the release branch.\n\n## Food\n\n- Ann is allergic to peanuts.\n") {
		t.Error("a new document has not changed")
	}
	if put(t, x, SourceMemory, "MEMORY.md", "# Notes\n\n## Deploys\n\n- We deploy from the release branch.\n\n## Food\n\n- Ann is allergic to peanuts.\n") {
		t.Error("the same document has changed")
	}
	wantFirst(t, x, "Which branch do we deploy from?", "release branch")
	before, err := numbers(t.Context(), x.db, "SELECT id FROM unit ORDER BY id")
	must(t, err)
	put(t, x, SourceMemory, "MEMORY.md", "# Notes\n\n## Deploys\n\n- We deploy from the release branch.\n\n## Food\n\n- Ann likes walnuts.\n")
	after, err := numbers(t.Context(), x.db, "SELECT id FROM unit ORDER BY id")
	must(t, err)
	if len(after) != 2 || after[0] != before[0] || after[1] == before[1] {
		t.Errorf("units %v became %v: want the first kept and the second replaced", before, after)
	}
	wantNothing(t, x, "peanuts")
	wantFirst(t, x, "walnut", "Ann likes")
	put(t, x, SourceMemory, "MEMORY.md", "")
	wantNothing(t, x, "walnut")
}

func TestSyncRemovesMissingDocuments(t *testing.T) {
	x := openIn(t, t.TempDir())
	docs := []Document{Markdown(SourceLog, "memory/2026-01-01.md", "- rotated the logs"), Markdown(SourceLog, "memory/2026-01-02.md", "- renewed certificates")}
	for _, want := range []struct{ docs, changed int }{{2, 2}, {2, 0}, {1, 1}} {
		n, err := x.Sync(t.Context(), SourceLog, docs[:want.docs])
		must(t, err)
		if n != want.changed {
			t.Errorf("%d documents: %d changed, want %d", want.docs, n, want.changed)
		}
	}
	wantFirst(t, x, "log rotation", "rotated")
	wantNothing(t, x, "certificate")
}

func TestForgottenStaysForgotten(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	const text = "- The wifi password is swordfish.\n- The printer is on floor two.\n"
	put(t, x, SourceMemory, "MEMORY.md", text)
	put(t, x, SourceLog, "memory/2026-01-01.md", "- noted: the WIFI   password is swordfish.\n- watered the plants\n")
	_, err := x.Import(t.Context(), "/tmp/a.jsonl", strings.NewReader(`{"name":"ann","content":"the wifi password is swordfish."}`), strings.TrimSpace)
	must(t, err)
	n, err := x.ForgetText(t.Context(), "WiFi password is  swordfish")
	must(t, err)
	if n != 3 {
		t.Errorf("%d entries forgotten, want 3", n)
	}
	wantNothing(t, x, "swordfish")
	wantFirst(t, x, "printer", "floor two")
	if put(t, x, SourceMemory, "MEMORY.md", text); len(find(t, x, "swordfish")) > 0 {
		t.Error("storing the document again brings it back")
	}
	must(t, x.Rebuild(t.Context()))
	put(t, x, SourceMemory, "MEMORY.md", text)
	wantNothing(t, x, "swordfish")
	wantFirst(t, x, "printer", "floor two")
	must(t, x.Close())
	for _, end := range []string{"", "-wal"} { // nor is it in the file
		data, _ := os.ReadFile(x.path + end)
		if strings.Contains(string(data), "swordfish") {
			t.Errorf("the file%s still contains it", end)
		}
	}
}

func TestForgetByID(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, SourceMemory, "MEMORY.md", "## A\n\n- one about ferrets\n\n## B\n\n- another about otters\n")
	hits, err := x.Search(t.Context(), Query{Text: "ferret"})
	must(t, err)
	n, err := x.Forget(t.Context(), hits[0].ID)
	if must(t, err); n != 1 {
		t.Errorf("%d forgotten, want 1", n)
	}
	wantNothing(t, x, "ferrets")
	wantFirst(t, x, "otter", "otters")
	for _, id := range []string{hits[0].ID, "", "zz", "' OR 1 --"} {
		if _, err := x.Forget(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("ID %q: %v", id, err)
		}
	}
	if _, err := x.ForgetText(t.Context(), " a "); !errors.Is(err, ErrNotFound) {
		t.Errorf("a short text: %v", err)
	}
}

func TestNotes(t *testing.T) {
	x := openIn(t, t.TempDir())
	for i, want := range []bool{true, false} {
		added, err := x.Add(t.Context(), "preference", "Deploy to staging first.")
		if must(t, err); added != want {
			t.Errorf("time %d: added %v", i, added)
		}
	}
	_, err := x.Add(t.Context(), "preference", "Use tabs.")
	must(t, err)
	must(t, x.Rebuild(t.Context()))
	wantFirst(t, x, "where to deploy", "staging")
	wantFirst(t, x, "tabs or spaces", "Use tabs.")
	hits, err := x.Search(t.Context(), Query{Text: "deploy", Kind: "fact"})
	if must(t, err); len(hits) > 0 {
		t.Errorf("kind fact: %v", hits)
	}
	_, err = x.ForgetText(t.Context(), "deploy to staging")
	must(t, err)
	wantNothing(t, x, "staging")
	added, err := x.Add(t.Context(), "preference", "Deploy to staging first.") // a person wants it back
	if must(t, err); !added {
		t.Error("a forgotten note cannot be added again")
	}
	wantFirst(t, x, "staging", "staging")
	_, err = x.Add(t.Context(), "../x", "y")
	wantSentence(t, err, "A kind is a word")
}

func TestStatusReadNewest(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, SourceLog, "memory/2026-01-01.md", "- first\n- second\n- third\n")
	put(t, x, SourceLog, "memory/2026-02-01.md", "- last\n")
	s, err := x.Status(t.Context())
	must(t, err)
	if s.Room != den || s.Documents != 2 || s.Entries != 4 || s.Sources[SourceLog] != 4 || s.Bytes == 0 || s.Changed.IsZero() {
		t.Errorf("status %+v", s)
	}
	read, err := x.Read(t.Context(), "memory/2026-01-01.md", 2, 2)
	if must(t, err); textOf(read) != "- second\n- third" || read[0].From != 2 || read[1].To != 3 || read[0].Time.Year() != 2026 {
		t.Errorf("read %+v", read)
	}
	if _, err := x.Read(t.Context(), "nothing", 1, 1); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	hits, err := x.Newest(t.Context(), 1)
	if must(t, err); len(hits) != 1 || hits[0].Text != "- last" {
		t.Errorf("newest %+v", hits)
	}
	_, err = x.Add(t.Context(), "fact", "an old note")
	must(t, err)
	for i := range 20 {
		put(t, x, SourceLog, fmt.Sprintf("memory/2126-01-%02d.md", i+1), "- newer")
	}
	hits, err = x.Newest(t.Context(), 1, SourceNote)
	if must(t, err); len(hits) != 1 || hits[0].Text != "an old note" {
		t.Errorf("newest note %+v", hits)
	}
}

func TestRoomsAndFiles(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	other, err := Open(t.Context(), dir, "!other:x")
	must(t, err)
	put(t, x, SourceMemory, "MEMORY.md", "- only here")
	if hits, err := other.Search(t.Context(), Query{Text: "only here"}); err != nil || len(hits) > 0 {
		t.Errorf("another room finds it: %v, %v", hits, err)
	}
	must(t, other.Close())
	rooms, err := Rooms(dir)
	must(t, err)
	if diff := cmp.Diff([]string{den, "!other:x"}, rooms); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(x.path)
	if must(t, err); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	must(t, Remove(dir, "!other:x"))
	if Exists(dir, "!other:x") || !Exists(dir, den) {
		t.Error("the wrong index was removed")
	}
	must(t, os.Remove(Path(dir, den)))
	must(t, exec.CommandContext(t.Context(), "mkfifo", Path(dir, den)).Run())
	if _, err := Open(t.Context(), dir, den); err == nil {
		t.Error("a pipe was opened as an index")
	}
}

func TestTwoProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			x, err := Open(context.Background(), dir, den)
			if err != nil {
				t.Error(err)
				return
			}
			for range 10 {
				if _, err := x.Add(context.Background(), "fact", strings.Repeat("walrus ", i+1)); err != nil {
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

func TestFull(t *testing.T) {
	x := openIn(t, t.TempDir())
	_, err := x.db.Exec("PRAGMA max_page_count = 60")
	must(t, err)
	put(t, x, SourceMemory, "MEMORY.md", "- a walrus")
	_, err = x.Put(t.Context(), Markdown(SourceLog, "memory/big.md", strings.Repeat("- "+writerOf(1)(40)+"\n", 10_000)))
	if !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	wantSentence(t, err, "is full")
	wantFirst(t, x, "walrus", "a walrus")
}

// Long before the index is full, what was said first and what was done first make room. Nothing else does.
func TestOldestMakeRoom(t *testing.T) {
	x := openIn(t, t.TempDir())
	_, err := x.Add(t.Context(), "fact", "The otter is called Emil.")
	must(t, err)
	put(t, x, SourceMemory, "MEMORY.md", "- a walrus")
	var docs []Document
	for i := range 1000 {
		docs = append(docs, Document{Source: SourceTranscript, Path: fmt.Sprint("conversation/", i), Origin: OriginTask, Entries: []Entry{
			{From: 1, To: 1, Time: day(1, 1).Add(time.Duration(i) * time.Hour), Text: fmt.Sprintf("topic%d %s", i, strings.Repeat("word ", 200))}}})
	}
	_, err = x.Put(t.Context(), docs...)
	must(t, err)
	before, err := x.Status(t.Context())
	must(t, err)
	const most = 1 << 20
	must(t, x.inTx(t.Context(), func(tx *sql.Tx) error { return newWriter(t.Context(), tx).makeRoom(most) }))
	after, err := x.Status(t.Context())
	must(t, err)
	if before.Bytes < 2*most || after.Entries > before.Entries/2 || after.Entries < 100 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	wantFirst(t, x, "otter", "Emil")
	wantFirst(t, x, "walrus", "walrus")
	wantFirst(t, x, "topic999", "topic999")
	if all := strings.Join(find(t, x, "topic1"), "\n"); strings.Contains(all, "topic1 ") {
		t.Error("the oldest is still there")
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	tx, err := x.db.Begin() // immediate: it holds the write lock
	must(t, err)
	other := openIn(t, dir)
	_, err = other.db.Exec("PRAGMA busy_timeout = 50")
	must(t, err)
	_, err = other.Add(t.Context(), "fact", "x y")
	if !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	wantNothing(t, other, "walrus") // a search needs no lock
	must(t, tx.Rollback())
}

func TestIndexOfFile(t *testing.T) {
	if Path("/s", den) == Path("/s", "!b:x") || filepath.Dir(Path("/s", "!../x")) != "/s/memory" {
		t.Error(Path("/s", den))
	}
}
