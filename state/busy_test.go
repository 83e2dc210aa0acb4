package state

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// busy is a journal with a task in every state, unsent messages and long texts: all rows,
// and its files by the ends of their names, by whether it was closed.
var busy struct {
	once  sync.Once
	rows  map[string]string
	files map[bool]map[string][]byte
}

// busyJournal writes the journal to path, as a clean end or a kill leaves it, and returns
// all rows. It is built once, in hundreds of transactions.
func busyJournal(t *testing.T, path string, clean bool) map[string]string {
	t.Helper()
	busy.once.Do(func() { buildBusy(t) })
	if busy.files == nil {
		t.Fatal("the journal could not be built")
	}
	for end, data := range busy.files[clean] {
		must(t, os.WriteFile(path+end, data, 0o600))
	}
	must(t, os.WriteFile(path+".snapshot", busy.files[true][""], 0o600))
	return busy.rows
}

func buildBusy(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	random := rand.New(rand.NewPCG(7, 7))
	for i := range 400 {
		e := anEvent(fmt.Sprint("!room", i%8), fmt.Sprint("$e", i), Archived)
		e.Body.Message.Body = strings.Repeat("words ", random.IntN(200))
		if i%40 == 0 {
			e.Body.Message.Body = strings.Repeat("long ", 4000)
		}
		if i%10 == 9 {
			e.Status = Pending
		}
		commit(t, j, fmt.Sprint("token", i), e)
	}
	for i := range 60 {
		room := fmt.Sprint("!room", i%8)
		task := queueTask(t, j, room, fmt.Sprint("$task", i))
		task.Details.Result = strings.Repeat("result ", random.IntN(300))
		out := []Message{message(fmt.Sprint("m", i), room, task.Key)}
		switch i % 5 {
		case 1:
			must(t, j.Tasks.Claim(ctx, task))
		case 2:
			must(t, j.Tasks.Wait(ctx, task, out))
		case 3:
			must(t, j.Tasks.Answer(ctx, task, out))
		case 4:
			must(t, j.Tasks.Answer(ctx, task, out))
			must(t, j.Messages.MarkSent(ctx, out[0].Txn, fmt.Sprint("$sent", i)))
			must(t, j.Tasks.Finish(ctx, task.Key))
		}
	}
	for i := range 20 {
		must(t, j.Budget.Add(ctx, fmt.Sprint("!room", i), Spending{Day: time.Unix(int64(i)*daySeconds, 0), Requests: 1, Input: 5, Output: 7, Extra: int64(i)}))
	}
	must(t, j.Events.Attempt(ctx, "bomb", func() bool { return false }))
	_, err := j.Events.CommitBatch(ctx, Batch{Next: "token", Gaps: []Gap{{Room: "!gap", Token: "before", Encrypted: EncryptedNever}}})
	must(t, err)
	rows := rowsOf(t, j)
	killed := readFiles(t, path, "", "-wal")
	must(t, j.Close())
	busy.rows, busy.files = rows, map[bool]map[string][]byte{false: killed, true: readFiles(t, path, "")}
}

func readFiles(t *testing.T, path string, ends ...string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, end := range ends {
		data, err := os.ReadFile(path + end)
		must(t, err)
		files[end] = data
	}
	return files
}

// rowsOf returns all rows by table and key.
func rowsOf(t *testing.T, j *Journal) map[string]string {
	t.Helper()
	all := map[string]string{}
	keys := map[string]string{"event": "room || ' ' || event", "task": "key", "message": "txn", "meta": "key", "spending": "room || ' ' || day", "attempt": "key"}
	tables, err := queryAll(ctx, j.db, scanText, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'")
	must(t, err)
	for _, table := range tables {
		rows, err := j.db.Query("SELECT " + cmp.Or(keys[table], "rowid") + ", * FROM " + table)
		must(t, err)
		names, err := rows.Columns()
		must(t, err)
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(any)
			}
			must(t, rows.Scan(values...))
			var line []string
			for i, v := range values[1:] {
				line = append(line, fmt.Sprintf("%s=%v", names[i+1], *v.(*any)))
			}
			slices.Sort(line)
			all[table+" "+fmt.Sprint(*values[0].(*any))] = strings.Join(line, " ")
		}
		must(t, rows.Err())
	}
	return all
}

// overwrite fills pages with random bytes.
func overwrite(t *testing.T, path string, random *rand.Rand, numbers ...int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer file.Close()
	for _, n := range numbers {
		page := make([]byte, 4096)
		for i := range page {
			page[i] = byte(random.Uint32())
		}
		_, err := file.WriteAt(page, int64(n-1)*4096)
		must(t, err)
	}
}

// use reads and writes as a running bot does, until an error.
func use(j *Journal) error {
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	_, err := j.Events.NextBatch(ctx)
	note(err)
	rooms, err := j.Events.UnfinishedRooms(ctx)
	note(err)
	_, err = j.Messages.UnsentRooms(ctx)
	note(err)
	_, err = j.Tasks.Waiting(ctx)
	note(err)
	for i := range 8 {
		if room := fmt.Sprint("!room", i); !slices.Contains(rooms, room) {
			rooms = append(rooms, room)
		}
	}
	for _, room := range rooms {
		events, err := j.Events.Pending(ctx, room, 0, MaxBatch)
		note(err)
		if len(events) > 0 {
			note(j.Events.Finish(ctx, room, events[0].ID))
		}
		_, err = j.Events.Before(ctx, room, 1<<40, MaxBatch)
		note(err)
		_, err = j.Messages.Unsent(ctx, room)
		note(err)
		for _, state := range []TaskState{TaskQueued, TaskRunning, TaskAnswered} {
			_, err = j.Tasks.In(ctx, room, state)
			note(err)
		}
		_, err = j.Events.Commit(ctx, "next", []Event{anEvent(room, "$new", Archived)})
		note(err)
	}
	return errors.Join(errs...)
}
