package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

const perCommit = 7 // events in each commit of the child

// runChild works in dir until it is killed, and prints each step once it is on disk.
func runChild(job, dir string) error {
	ctx := context.Background()
	switch job {
	case "lock":
		if _, err := Lock(dir); err != nil {
			return err
		}
		fmt.Println(0)
		select {}
	case "store":
		_, s, err := Open(ctx, dir, zerolog.Nop())
		if err != nil {
			return err
		}
		for i := range 1_000_000 {
			if err := s.Conversations.Append(ctx, fmt.Sprint("!r", i%50), Turn{"user", strings.Repeat("x", 5000), fmt.Sprint("$", i)}); err != nil {
				return err
			}
			fmt.Println(i)
		}
	case "journal":
		j, err := OpenJournal(ctx, filepath.Join(dir, "journal.db"), zerolog.Nop())
		if err != nil {
			return err
		}
		token, err := j.Events.NextBatch(ctx)
		if err != nil {
			return err
		}
		from, _ := strconv.Atoi(token)
		for i := from + 1; ; i++ {
			var events []Event
			for k := range perCommit {
				events = append(events, anEvent("!r", fmt.Sprintf("$%d-%d", i, k), Archived))
			}
			if _, err := j.Events.Commit(ctx, strconv.Itoa(i), events); err != nil {
				return err
			}
			fmt.Println(i)
		}
	case "questions":
		return askAndAnswer(ctx, filepath.Join(dir, "journal.db"))
	case "gap":
		return fillGaps(ctx, filepath.Join(dir, "journal.db"))
	}
	return fmt.Errorf("no job %q", job)
}

// askAndAnswer makes one task ask, be answered, and ask again, continuing where an earlier process was killed. Tries is
// the number of answers.
func askAndAnswer(ctx context.Context, path string) error {
	j, err := OpenJournal(ctx, path, zerolog.Nop())
	if err != nil {
		return err
	}
	if _, err := j.Events.Commit(ctx, "t", []Event{anEvent("!r", "$task", Pending)}); err != nil {
		return err
	}
	if err := j.Tasks.Enqueue(ctx, work("!r", "$task")); err != nil && !errors.Is(err, ErrFinished) {
		return err
	}
	task, err := j.Tasks.Get(ctx, "$task")
	if err != nil {
		return err
	}
	for i := task.Tries; ; i++ {
		answer := anEvent("!r", fmt.Sprint("$answer", i), Pending)
		task.Tries = i
		if err := j.Tasks.Wait(ctx, task, []Message{message(fmt.Sprint("question", i), "!r", "$task")}); err != nil {
			return err
		}
		if _, err := j.Events.Commit(ctx, "t", []Event{answer}); err != nil {
			return err
		}
		task.Tries = i + 1
		if err := j.Tasks.Resume(ctx, task, []Message{message(fmt.Sprint("going-on", i), "!r", "$task")}, answer.ID); err != nil {
			return err
		}
		fmt.Println(i + 1)
	}
}

// killChild runs a child until it has printed steps lines, kills it in the middle of the next step, and returns the
// last number printed.
func killChild(t *testing.T, job, dir string, steps int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childJob+"="+job+":"+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	last := -1
	for lines := bufio.NewScanner(out); lines.Scan(); steps-- {
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if steps == 1 {
			must(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || steps > 0 {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return last
}

// After kill -9 in the middle of a commit the token and the events agree, and
// nothing that was acknowledged is missing.
func TestJournalSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	for _, steps := range []int{1, 2, 30, 3, 11} {
		said := killChild(t, "journal", dir, steps)
		j := openJournal(t, path)
		token, err := j.Events.NextBatch(ctx)
		must(t, err)
		n, err := strconv.Atoi(token)
		must(t, err)
		if n < said {
			t.Errorf("commit %d was acknowledged, token is %d", said, n)
		}
		if rows := countRows(t, j, "event"); rows != n*perCommit {
			t.Errorf("token %d with %d events, want %d", n, rows, n*perCommit)
		}
		if j.Corrupt() != "" {
			t.Errorf("journal was moved to %s", j.Corrupt())
		}
		must(t, j.db.Close())
	}
}

// After kill -9 in the middle of a step the task, its questions and its answers agree: no question without a task that
// waits for it, no answer that is bound but not counted.
func TestQuestionsSurviveKill(t *testing.T) {
	dir := t.TempDir()
	for _, steps := range []int{1, 25, 2, 7} {
		said := killChild(t, "questions", dir, steps)
		j := openJournal(t, filepath.Join(dir, "journal.db"))
		task, err := j.Tasks.Get(ctx, "$task")
		must(t, err)
		answers := task.Tries
		if answers < said {
			t.Errorf("answer %d was acknowledged, %d are counted", said, answers)
		}
		questions := answers
		if task.State == TaskWaiting {
			questions++
		}
		count := func(where string) (n int) {
			t.Helper()
			must(t, j.db.QueryRow("SELECT count(*) FROM "+where).Scan(&n))
			return n
		}
		if n := count("event WHERE status = 4"); n != answers+1 { // and the task
			t.Errorf("%d answers are counted, %d are bound", answers, n)
		}
		if n := count("message WHERE txn LIKE 'going-on%'"); n != answers {
			t.Errorf("%d answers are counted, %d are reported", answers, n)
		}
		if n := count("message WHERE txn LIKE 'question%'"); n != questions {
			t.Errorf("%d questions in state %s and %d answers", n, task.State, answers)
		}
		must(t, j.db.Close())
	}
}

// After kill -9 in the middle of a save the file parses and contains everything that was acknowledged.
func TestStoreSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	for _, steps := range []int{1, 60, 7} {
		said := killChild(t, "store", dir, steps)
		s := openStore(t, dir)
		if s.Corrupt() != "" {
			t.Fatalf("state was moved to %s", s.Corrupt())
		}
		events := map[string]bool{}
		for _, room := range s.Rooms() {
			for _, turn := range historyOf(t, s, room) {
				events[turn.Event] = true
			}
		}
		for i := range said + 1 {
			if !events[fmt.Sprint("$", i)] {
				t.Errorf("turn %d was acknowledged and is gone", i)
			}
		}
		left, err := filepath.Glob(filepath.Join(dir, ".state.json*"))
		must(t, err)
		if len(left) > 0 {
			t.Errorf("leftovers %v", left)
		}
	}
}

func TestLockIsForOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, err := Lock(dir)
	must(t, err)
	_, err = Lock(dir)
	wantSentence(t, err, fmt.Sprintf("process %d", os.Getpid()))
	must(t, first.Close())

	killChild(t, "lock", dir, 1) // a killed process holds no lock
	second, err := Lock(dir)
	must(t, err)
	must(t, second.Close())
}

func countRows(t *testing.T, j *Journal, table string) (n int) {
	t.Helper()
	must(t, j.db.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
	return n
}
