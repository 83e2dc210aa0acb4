package state

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// In schema 2 a task was an inbound row with a JSON record, and only the suffix of its
// transaction ID said what a message was. The code in this file and in
// migratemessages.go migrates that to schema 3. It describes fixed formats and never
// changes.

// oldEvent is an inbound row of schema 2.
type oldEvent struct {
	Seq          int64
	Room, Event  string
	Sender, Type string
	Time         time.Time
	Raw          json.RawMessage
	Status       Status
	task         string // JSON of oldRecord, or ""
	at           int64
}

// oldRecord is the JSON record of a started task in schema 2.
type oldRecord struct {
	Attempt     int                           `json:"attempt"`
	Tries       int                           `json:"tries"`
	Run         string                        `json:"run"`
	Box         string                        `json:"box"`
	Session     string                        `json:"session"`
	Resume      bool                          `json:"resume"`
	Base        string                        `json:"base"`
	Interrupted bool                          `json:"interrupted"`
	Begun       time.Time                     `json:"begun"`
	Deadline    time.Time                     `json:"deadline"`
	Used        Usage                         `json:"used"`
	Text        string                        `json:"text"`
	Held        struct{ Command, Dir string } `json:"held"`
	Ran         *struct {
		Box, Output, Result string
		Over                bool
	} `json:"ran"`
	Stop *struct {
		By     string `json:"by"`
		Silent bool   `json:"silent"`
	} `json:"stop"`
	Steer    []Said `json:"steer"`
	Files    []File `json:"files"`
	Told     int    `json:"told"`
	Given    int    `json:"given"`
	Ended    string `json:"ended"`
	Answer   string `json:"answer"`
	Line     string `json:"line"`
	Status   int64  `json:"status"`
	Resuming bool   `json:"resuming"`

	Execution struct {
		ID            string   `json:"session_id"`
		State         string   `json:"state"`
		Transcript    []string `json:"transcript"`
		Commands      []string `json:"commands"`
		Results       []struct{ Output string }
		Question      string    `json:"current_question"`
		Context       string    `json:"question_context"`
		Answers       []Answer  `json:"answers"`
		Error         string    `json:"error_message"`
		Room          string    `json:"room"`
		QuestionEvent string    `json:"question_event"`
		Deadline      time.Time `json:"deadline"`
		Created       time.Time `json:"created_at"`
		Updated       time.Time `json:"updated_at"`
	} `json:"execution"`
}

const (
	oldExecute = "io.matrix-tui.execute" // type of a task submitted by HTTP
	oldPage    = 500                     // rows held in memory at a time
)

// oldStates maps the old status numbers to the states of tasks.
var oldStates = map[Status]TaskState{1: TaskQueued, 2: TaskRunning, 3: TaskAnswered, 4: TaskDone, 5: TaskWaiting}

// oldSpace is the namespace of execution IDs.
var oldSpace = uuid.MustParse("6f0b9f0e-6a0c-5d8f-9d53-3a5f5a4d2c11")

// fillTables fills the task and message tables of schema 3 from schema 2.
func fillTables(ctx context.Context, tx *sql.Tx) error {
	if err := fillTasks(ctx, tx); err != nil {
		return fmt.Errorf("migrate tasks: %w", err)
	}
	if err := fillMessages(ctx, tx); err != nil {
		return fmt.Errorf("migrate messages: %w", err)
	}
	return nil
}

// fillTasks creates a task for each event whose task has started, was edited or
// stopped, or was submitted by HTTP. Other events stay Pending and are decided after
// the start.
func fillTasks(ctx context.Context, tx *sql.Tx) error {
	const query = "SELECT seq, room, event, sender, type, time, raw, status, ifnull(task, ''), at FROM inbound" +
		" WHERE seq > ? AND status <> 0 AND (status IN (2, 3, 5) OR task IS NOT NULL OR status = 1 AND type = '" + oldExecute + "') ORDER BY seq LIMIT ?"
	scan := func(row scanner) (e oldEvent, err error) {
		var ms int64
		var raw string
		err = row.Scan(&e.Seq, &e.Room, &e.Event, &e.Sender, &e.Type, &ms, &raw, &e.Status, &e.task, &e.at)
		e.Time, e.Raw = time.UnixMilli(ms).UTC(), json.RawMessage(raw)
		return e, err
	}
	var last int64
	for {
		rows, err := queryAll(ctx, tx, scan, query, last, oldPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, e := range rows {
			t, err := e.asTask()
			if err != nil {
				return fmt.Errorf("row %d: %w", e.Seq, err)
			}
			if err := writeTask(ctx, tx, t, e.at); err != nil {
				return fmt.Errorf("row %d: %w", e.Seq, err)
			}
			if _, err := tx.ExecContext(ctx, "UPDATE inbound SET status = 4 WHERE seq = ?", e.Seq); err != nil {
				return err
			}
		}
		last = rows[len(rows)-1].Seq
	}
}

// asTask builds the task from the row's record and its raw event.
func (e oldEvent) asTask() (Task, error) {
	var rec oldRecord
	if e.task != "" {
		if err := json.Unmarshal([]byte(e.task), &rec); err != nil {
			return Task{}, fmt.Errorf("read record: %w", err)
		}
	}
	x := rec.Execution
	all := members(e.Raw)
	content := members(all["content"])
	relation := members(content["m.relates_to"])
	t := Task{
		Key: oldKey(e.Room, e.Event), Seq: e.Seq, Room: e.Room, Event: e.Event, Home: cmp.Or(text(all["room_id"]), e.Room),
		Source: FromRoom, Requester: e.Sender, Time: e.Time, State: oldStates[e.Status],
		Execution: cmp.Or(x.ID, uuid.NewSHA1(oldSpace, []byte(e.Room+"\x00"+e.Event)).String()),
		Text:      cmp.Or(rec.Text, strings.Join(x.Transcript, "\n")), Edited: rec.Text != "",
		HasFile: e.Type == "m.room.encrypted" || e.Type == "m.sticker" || slices.Contains([]string{"m.image", "m.file", "m.audio", "m.video"}, text(content["msgtype"])),

		Attempt: rec.Attempt, Tries: rec.Tries, Run: rec.Run, Container: rec.Box, Session: rec.Session, Resume: rec.Resume,
		BaseSession: rec.Base, Interrupted: rec.Interrupted, Begun: rec.Begun, Deadline: rec.Deadline,
		Question: x.Question, QuestionContext: x.Context, QuestionEvent: x.QuestionEvent, QuestionDeadline: x.Deadline,
		HeldCommand: rec.Held.Command, HeldDir: rec.Held.Dir,
		Ended: rec.Ended, Resumable: rec.Resuming, Error: x.Error, Created: x.Created, Updated: x.Updated,
		Details: Details{
			Commands: x.Commands, Answers: x.Answers, Said: rec.Steer, Told: rec.Told, Given: rec.Given, Files: rec.Files, Used: rec.Used,
			Result: rec.Answer, StatusLine: rec.Line, StatusSize: rec.Status,
		},
	}
	if text(relation["rel_type"]) == "m.thread" {
		t.Thread = text(relation["event_id"])
	}
	if string(relation["is_falling_back"]) != "true" {
		t.ReplyTo = text(members(relation["m.in_reply_to"])["event_id"])
	}
	if e.Type == oldExecute {
		t.Source, t.Execution = FromHTTP, strings.TrimPrefix(e.Event, "$"+oldExecute+"-")
		if x.ID == "" {
			t.Text = text(content["transcript"])
			_ = json.Unmarshal(content["commands"], &t.Commands) // written by us; null for none
		}
	} else if x.ID == "" { // from before executions existed
		t.Text = text(content["body"])
	}
	if t.State == TaskWaiting {
		t.QuestionRoom = x.Room
	}
	if rec.Stop != nil {
		t.StopBy, t.Withdrawn = rec.Stop.By, rec.Stop.Silent
	}
	if rec.Ran != nil {
		t.Approved = &Command{Container: rec.Ran.Box, Over: rec.Ran.Over, Output: rec.Ran.Output, Result: rec.Ran.Result}
	}
	if x.State == "completed" && len(x.Results) > 0 {
		t.Result = x.Results[0].Output
	}
	if t.Created.IsZero() {
		t.Created, t.Updated = e.Time, e.Time
	}
	return t, nil
}

// members returns the members of a JSON object by their exact names, or nil.
func members(raw json.RawMessage) (all map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &all)
	return all
}

// text returns a JSON string, or "".
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// oldKey returns the key of a task.
func oldKey(room, event string) string {
	sum := sha256.Sum256([]byte(room + "\x00" + event))
	return hex.EncodeToString(sum[:10])
}
