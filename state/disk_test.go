package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state/transcripts"
)

func TestStoreOnFullDisk(t *testing.T) {
	dir := smallDisk(t, "1m")
	s := openStore(t, dir)
	must(t, s.Conversations.Append(ctx, "!r", Turn{Role: "user", Content: "before"}))
	before := readState(t, s) // it is written in the background otherwise, perhaps not before the disk is full
	free := fill(t, dir)
	for i := range 3 {
		err := s.Conversations.Append(ctx, "!r", Turn{Role: "user", Content: strings.Repeat("x", 9000), Event: fmt.Sprint("$", i)})
		wantSentence(t, err, "no space left in "+dir)
	}
	if diff := cmp.Diff(before, fileNow(t, dir)); diff != "" {
		t.Error("a failed save touched the file:", diff)
	}
	if got := len(historyOf(t, s, "!r")); got != 4 {
		t.Errorf("%d turns in memory, want 4", got)
	}
	if got := historyOf(t, openStore(t, dir), "!r"); len(got) != 1 { // it opens: nothing is to be written
		t.Errorf("%d turns in the journal, want 1", len(got))
	}

	free()
	must(t, s.Containers.Set(ctx, "!r", "box"))
	again := openStore(t, dir)
	if diff := cmp.Diff(historyOf(t, s, "!r"), historyOf(t, again, "!r")); diff != "" {
		t.Error("what could not be saved was not in the next write:", diff)
	}
}

func TestStoreInReadOnlyFolder(t *testing.T) {
	dir := smallDisk(t, "1m")
	j, s, err := Open(ctx, dir, zerolog.Nop())
	must(t, err)
	must(t, s.Containers.Set(ctx, "!r", "box"))
	must(t, s.Close())
	must(t, j.Close())
	setReadOnly(t, dir, true)
	for _, dir := range []string{dir, filepath.Join(dir, "sub")} {
		_, _, err := Open(ctx, dir, zerolog.Nop())
		wantSentence(t, err, "read-only")
	}
	_, err = Lock(filepath.Join(dir, "sub"))
	wantSentence(t, err, "read-only")
	_, err = transcripts.Open(dir, zerolog.Nop())
	wantSentence(t, err, "read-only")
	setReadOnly(t, dir, false)
	if got := openStore(t, dir).Containers.Of("!r"); got != "box" {
		t.Errorf("container %q", got)
	}
}

func TestStoreWhereAFileIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, nil, 0o600))
	_, _, err := Open(ctx, path, zerolog.Nop())
	wantSentence(t, err, "not a folder")
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "state.json"), 0o700))
	_, _, err = Open(ctx, dir, zerolog.Nop())
	wantSentence(t, err, "is a folder")
}

// On a full disk a commit fails as a whole, and what was committed before stays.
func TestJournalOnFullDisk(t *testing.T) {
	dir := smallDisk(t, "4m")
	path := filepath.Join(dir, "journal.db")
	j := openJournal(t, path)
	must(t, os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 1<<20), 0o600))

	commit := func(i int) error {
		var events []Event
		for k := range 50 {
			e := anEvent("!r", fmt.Sprintf("$%d-%d", i, k), Archived)
			e.Body.Message.Body = strings.Repeat("x", 2000)
			events = append(events, e)
		}
		_, err := j.Events.Commit(ctx, strconv.Itoa(i), events)
		return err
	}
	good := 0
	var err error
	for err == nil && good < 1000 {
		if err = commit(good + 1); err == nil {
			good++
		}
	}
	wantSentence(t, err, "no space left in "+dir)
	for range 2 {
		if err := commit(good + 1); err == nil {
			t.Fatal("a commit went through on a full disk")
		}
	}
	check := func(j *Journal, want int) {
		t.Helper()
		token, err := j.Events.NextBatch(ctx)
		must(t, err)
		if rows := countRows(t, j, "event"); token != strconv.Itoa(want) || rows != want*50 {
			t.Errorf("token %q with %d events, want %d with %d", token, rows, want, want*50)
		}
	}
	check(j, good)

	must(t, os.Remove(filepath.Join(dir, "ballast")))
	must(t, commit(good+1))
	check(j, good+1)
	must(t, j.db.Close())
	check(openJournal(t, path), good+1)
	if good == 0 {
		t.Error("no commit succeeded: the test tests nothing")
	}
}

// On a full disk no question or answer is half stored.
func TestQuestionOnFullDisk(t *testing.T) {
	dir := smallDisk(t, "4m")
	j := openJournal(t, filepath.Join(dir, "journal.db"))
	asks, waits := queueTask(t, j, "!a", "$asks"), queueTask(t, j, "!a", "$waits")
	commit(t, j, "t", anEvent("!a", "$by", Pending), anEvent("!a", "$new", Pending))
	must(t, j.Tasks.Wait(ctx, waits, nil))
	free := fill(t, dir)
	long := message("x", "!a", "")
	long.Body = strings.Repeat("x", 3<<20)
	steps := map[string]func() error{
		"wait":    func() error { return j.Tasks.Wait(ctx, asks, []Message{long}) },
		"resume":  func() error { return j.Tasks.Resume(ctx, waits, []Message{long}, "$by") },
		"reply":   func() error { return j.Messages.Reply(ctx, "!a", []Message{long}, "$by") },
		"enqueue": func() error { return j.Tasks.Enqueue(ctx, work("!a", "$new"), long) },
	}
	for name, step := range steps {
		err := step()
		if err == nil {
			t.Fatalf("%s went through on a full disk", name)
		}
		wantSentence(t, err, "no space left in "+dir)
	}
	for key, want := range map[string]TaskState{"$asks": TaskQueued, "$waits": TaskWaiting} {
		if task, err := j.Tasks.Get(ctx, key); err != nil || task.State != want {
			t.Errorf("%s is %s, want %s, %v", key, task.State, want, err)
		}
	}
	for _, id := range []string{"$by", "$new"} {
		if row, err := j.Events.Get(ctx, "!a", id); err != nil || row.Status != Pending {
			t.Errorf("%s has status %d, %v", id, row.Status, err)
		}
	}
	if unsent, err := j.Messages.Unsent(ctx, "!a"); len(unsent) > 0 || err != nil {
		t.Errorf("%v, %v", txns(unsent), err)
	}
	free()
	long.Body = ""
	must(t, steps["resume"]())
}

func TestTranscriptOnFullDisk(t *testing.T) {
	dir := smallDisk(t, "1m")
	tr, err := transcripts.Open(dir, zerolog.Nop())
	must(t, err)
	must(t, tr.Begin("box", "$1", "task"))
	free := fill(t, dir)
	for range 3 {
		wantSentence(t, tr.Append("box", transcripts.Line{Kind: transcripts.KindAssistant, Text: strings.Repeat("x", 9000)}), "no space left")
	}
	free()
	must(t, tr.End("box", "$1", "done"))
	lines, torn, err := tr.Load("box")
	must(t, err)
	if torn || len(lines) != 2 || lines[1].Outcome != "done" {
		t.Errorf("torn %v, lines %v", torn, lines)
	}
}
