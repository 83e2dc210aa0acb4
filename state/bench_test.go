package state

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fullStore returns a store of rooms with 50 turns of about 200 bytes each.
func fullStore(b *testing.B, rooms int) *Store {
	b.Helper()
	s := openStore(b, b.TempDir())
	text := strings.Repeat("Created utils.py with is_prime(). ", 6)[:200]
	for r := range rooms {
		id := fmt.Sprintf("!room%04d:example.org", r)
		all := make([]Turn, MaxTurns)
		for i := range all {
			all[i] = Turn{Role: []string{"user", "assistant"}[i%2], Content: text, Event: fmt.Sprintf("$event-%04d-%02d", r, i/2)}
		}
		s.set(id, room{history: turns(nil).with(all), container: fmt.Sprintf("sandbox-room%04d-0badcafe", r)})
	}
	must(b, s.Flush(ctx))
	must(b, s.writeFile())
	return s
}

// One room changes, and the whole file is written again. Goal: under 100 ms.
func BenchmarkStoreSave1000Rooms(b *testing.B) {
	s := fullStore(b, 1000)
	info, err := os.Stat(s.path)
	must(b, err)
	i := 0
	for b.Loop() {
		i++
		must(b, s.Conversations.Append(ctx, "!room0500:example.org", Turn{"user", "another prime checker, please", fmt.Sprint("$new", i)}))
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}

func BenchmarkStoreOpen1000Rooms(b *testing.B) {
	dir := filepath.Dir(fullStore(b, 1000).path)
	for b.Loop() {
		openStore(b, dir)
	}
}

func batch(from, n int) []Event {
	body := strings.Repeat("a message of some length, ", 12)
	events := make([]Event, n)
	for i := range events {
		e := anEvent(fmt.Sprintf("!room%04d:example.org", i%20), fmt.Sprintf("$%d-abcdefghijklmnopqrstuvwxyz0123456789", from+i), Archived)
		e.Body.Message.Body = body
		events[i] = e
	}
	return events
}

// A sync of 100 events and its token. Goal: under 20 ms.
func BenchmarkJournalCommit100(b *testing.B) {
	j := newJournal(b)
	from := 0
	for b.Loop() {
		commit(b, j, fmt.Sprint("s", from), batch(from, 100)...)
		from += 100
	}
}

func bigJournal(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "journal.db")
	j := openJournal(b, path)
	for from := 0; from < 100_000; from += 5000 {
		commit(b, j, "s", batch(from, 5000)...)
	}
	must(b, j.Close())
	return path
}

// Open a journal of 100,000 rows and query the pending work.
func BenchmarkJournalOpen100k(b *testing.B) {
	path := bigJournal(b)
	for b.Loop() {
		j := openJournal(b, path)
		_, err := j.Events.UnfinishedRooms(ctx)
		must(b, err)
		_, err = j.Messages.UnsentRooms(ctx)
		must(b, err)
		must(b, j.Close())
	}
}

// A sync of 100 events into a journal of 100,000 rows.
func BenchmarkJournalCommit100Into100k(b *testing.B) {
	j := openJournal(b, bigJournal(b))
	from := 100_000
	for b.Loop() {
		commit(b, j, fmt.Sprint("s", from), batch(from, 100)...)
		from += 100
	}
}

// 500 waiting tasks among 100,000 rows, as read at startup.
func BenchmarkJournalWaiting500Of100k(b *testing.B) {
	j := openJournal(b, bigJournal(b))
	for i, e := range batch(200_000, 500) {
		task := queueTask(b, j, e.Room, fmt.Sprint("$waits", i))
		task.Question = strings.Repeat("Which of the databases shall it be? ", 50)
		must(b, j.Tasks.Wait(ctx, task, nil))
	}
	for b.Loop() {
		tasks, err := j.Tasks.Waiting(ctx)
		must(b, err)
		if len(tasks) != 500 {
			b.Fatal(len(tasks))
		}
	}
}

// A question and its answer in a journal of 100,000 rows: two transactions.
func BenchmarkJournalQuestionAndAnswer(b *testing.B) {
	j := openJournal(b, bigJournal(b))
	task := queueTask(b, j, "!a", "$task")
	commit(b, j, "s", anEvent("!a", "$answer", Pending))
	i := 0
	for b.Loop() {
		i++
		must(b, j.Tasks.Wait(ctx, task, []Message{message(fmt.Sprint("q", i), "!a", "$task")}))
		must(b, j.Tasks.Resume(ctx, task, []Message{message(fmt.Sprint("n", i), "!a", "$task")}, "$answer"))
	}
}

// The next task of a room with 10,000 queued.
func BenchmarkJournalNextTaskOf10k(b *testing.B) {
	j := newJournal(b)
	var rows []Event
	for i := range 10_000 {
		rows = append(rows, anEvent("!a", fmt.Sprint("$", i), Pending))
	}
	commit(b, j, "s", rows...)
	must(b, j.inTx(ctx, func(tx *sql.Tx) error {
		for i := range rows {
			task := work("!a", fmt.Sprint("$", i))
			task.Seq = int64(i)
			if err := insertTask(ctx, tx, task, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	for b.Loop() {
		task, err := j.Tasks.Next(ctx, "!a")
		must(b, err)
		if task.Seq != 0 {
			b.Fatal(task.Seq)
		}
	}
}
