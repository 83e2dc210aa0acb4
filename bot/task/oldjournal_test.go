package task

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// Executions from a journal of the previous release are the same, byte for byte, when
// derived from its migrated tasks: state.json keeps its format.
func TestExecutionsOfPreviousRelease(t *testing.T) {
	dump, err := os.ReadFile("../../state/testdata/journal2.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(string(dump)); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query("SELECT task -> '$.execution' FROM inbound WHERE task IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	var before []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		before = append(before, one)
	}
	if rows.Err() != nil || len(before) < 8 || db.Close() != nil {
		t.Fatal(rows.Err(), len(before))
	}
	journal, err := state.OpenJournal(t.Context(), path, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	for _, one := range before {
		var id struct {
			ID         string   `json:"session_id"`
			Transcript []string `json:"transcript"`
		}
		if err := json.Unmarshal([]byte(one), &id); err != nil {
			t.Fatal(err)
		}
		rec, err := journal.TaskByExecution(t.Context(), id.ID)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Edited { // that release updated the execution only at the start
			rec.Text = id.Transcript[0]
		}
		task := (&Env{ID: rec.Room}).Task(rec)
		var before execution.Execution
		if err := json.Unmarshal([]byte(one), &before); err != nil {
			t.Fatal(err)
		}
		before.Topics = task.exec.Topics // that release had none
		if diff := cmp.Diff(&before, task.exec); diff != "" {
			t.Errorf("%s: %s", rec.Event, diff)
		}
		if diff := cmp.Diff(rec, task.Row()); diff != "" {
			t.Errorf("%s changes when stored: %s", rec.Event, diff)
		}
	}
}
