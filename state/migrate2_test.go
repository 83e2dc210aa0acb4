package state

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// journal2 is an SQL dump of a journal that the last release with schema 2 wrote, with
// tasks in each state and messages of most kinds.
func journal2(t *testing.T) string {
	t.Helper()
	dump, err := os.ReadFile("testdata/journal2.sql")
	must(t, err)
	path := filepath.Join(t.TempDir(), "journal.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.Exec(string(dump))
	must(t, err)
	must(t, db.Close())
	return path
}

// The tasks of schema 2 are migrated completely.
func TestTasksOfSchema2(t *testing.T) {
	path := journal2(t)
	j := openJournal(t, path)
	all, err := queryAll(ctx, j.db, scanTask, "SELECT "+taskColumns+" FROM task ORDER BY seq")
	must(t, err)
	var got []string
	for _, task := range all {
		line := fmt.Sprintf("%d %s %s %s: %s", task.Seq, task.Room, task.Event, task.State, task.Text)
		for _, more := range []struct {
			name string
			has  bool
			what any
		}{
			{"home", task.Home != task.Room, task.Home}, {"thread", task.Thread != "", task.Thread}, {"reply to", task.ReplyTo != "", task.ReplyTo},
			{"by", task.Source != FromRoom, task.Source}, {"plan", len(task.Commands) > 0, task.Commands}, {"edited", task.Edited, true},
			{"run", task.Run != "", strings.TrimPrefix(task.Run, task.Key)}, {"in", task.Container != "", task.Container}, {"resume", task.Resume, true},
			{"answers", len(task.Answers) > 0, task.Answers}, {"asks", task.Question != "", strings.ReplaceAll(task.Question, "\n", "|")},
			{"in room", task.QuestionRoom != "", task.QuestionRoom}, {"as", task.QuestionEvent != "", task.QuestionEvent},
			{"held", task.HeldCommand != "", task.HeldCommand + " in " + task.HeldDir}, {"stop", task.StopBy != "", task.StopBy}, {"withdrawn", task.Withdrawn, true},
			{"said", len(task.Said) > 0, len(task.Said)}, {"given", task.Given > 0, task.Given}, {"used", task.Used != (Usage{}), task.Used.Tokens},
			{"ended", task.Ended != "", task.Ended}, {"result", task.Result != "", task.Result},
		} {
			if more.has {
				line += fmt.Sprintf("; %s %v", more.name, more.what)
			}
		}
		got = append(got, line)
		if task.Execution == "" || task.Requester == "" || task.Time.IsZero() || task.Created.IsZero() || task.Key != oldKey(task.Room, task.Event) {
			t.Errorf("%s is incomplete: %+v", task.Event, task)
		}
	}
	want := []string{
		`2 !den:here $done done: write it down; run -1; in container-1; ended completed; result Written **down**.`,
		`3 !den:here $running running: build it; thread $root; run -1; in container-1; said 1`,
		`5 !den:here $waiting waiting: paint the shed; reply to $context; run -2; resume true; answers [{May I? yes @ann:here $yes }]; asks Which colour?|1. red|2. green; in room !den:here; as $question-1; used 1234`,
		"7 !den:here $held waiting: deploy; run -1; in container-1; asks May I run this command in `/workspace`?||```|make deploy|```; in room !den:here; held make deploy in /workspace",
		`8 !den:here $again running: paint the door; run -2; resume true; answers [{Which colour? black @ann:here $black }]; used 1234`,
		`11 !den:here $io.matrix-tui.execute-00000000-0000-4000-8000-000000000001 queued: back it up; by http; plan [pg_dump gzip]`,
		`12 !den:here $changed queued: another thing; edited true`,
		`13 !den:here $back queued: never mind; stop @ann:here; withdrawn true`,
		`16 !den:here $answered answered: sum it up; run -1; in container-1; ended completed; result It is 42.`,
		`19 !attic:here $moved waiting: back up the database; home !old:here; run -`,
	}
	want[9] = `19 !attic:here $moved waiting: back up the database; home !old:here; run ` + oldKey("!old:here", "$moved") + `-1; in container-1; asks Which database?; in room !old:here; as $question-old; used 1234`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	undecided, err := j.Pending(ctx, "!den:here", 0, 9)
	must(t, err)
	if diff := cmp.Diff([]string{"$queued", "$file", "$stop"}, ids(undecided)); diff != "" {
		t.Error("pending:", diff)
	}
	if next, err := j.NextTask(ctx, "!den:here"); err != nil || next.Event != "$running" {
		t.Errorf("next is %s, %v", next.Event, err)
	}
	if token, err := j.NextBatch(ctx); token != "s42" || err != nil {
		t.Errorf("token %q, %v", token, err)
	}
}

// The messages of schema 2 are migrated and keep their transaction IDs, which the
// homeserver may know.
func TestMessagesOfSchema2(t *testing.T) {
	path := journal2(t)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	before, err := queryAll(ctx, db, scanText, "SELECT json_array(seq, txn, room, type, content, event, status, error, at) FROM outbound ORDER BY seq")
	must(t, err)
	must(t, db.Close())
	j := openJournal(t, path)
	after, err := queryAll(ctx, j.db, scanText, "SELECT json_array(seq, txn, room, type, content, event, status, error, at) FROM message ORDER BY seq")
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, room := range []string{"!den:here", "!attic:here"} {
		rows, err := j.Unsent(ctx, room)
		must(t, err)
		for _, m := range rows {
			about, event := m.About, ""
			if task, err := j.Task(ctx, m.Task); err == nil {
				about, event = strings.TrimPrefix(about, task.Key), " of "+task.Event
			}
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d%s %s", m.Kind, m.Number, event, about)))
		}
	}
	want := []string{
		"redaction 0 of $running -queued", "notice-edit 0 of $running -n",
		"notice-edit 0 of $waiting -n", "notice 1 of $waiting", "option 1 of $waiting -q1", "reminder 1 of $waiting -q1",
		"question 0 of $held", "option 0 of $held -q0", "option 0 of $held -q0",
		"notice-edit 0 of $again -n", "notice 1 of $again",
		"arrival 0 of $io.matrix-tui.execute-00000000-0000-4000-8000-000000000001", "reaction 0 of $changed",
		"reaction 0 of $answered", "redaction 0 of $answered -queued", "notice 0 of $answered", "final 0 of $answered",
		"notice-edit 0 of $answered -n", "redaction 0 of $answered -eyes", "reaction 0 of $answered", "file 0 of $answered",
		"reply 0", "greeting 0", "notice-edit 0 " + oldKey("!old:here", "$moved") + "-n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for event, want := range map[string]string{"$question-1": "question 1", "$sent-f0": "final 0", "$option-0": "option 1"} {
		m, err := j.MessageOf(ctx, "!den:here", event)
		must(t, err)
		if got := fmt.Sprint(m.Kind, " ", m.Number); got != want {
			t.Errorf("%s is %s, want %s", event, got, want)
		}
	}
}
