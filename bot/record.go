package bot

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// record is what the journal keeps of a task that has begun.
type record struct {
	Attempt     int       `json:"attempt"`
	Tries       int       `json:"tries,omitempty"` // attempts since the last answer
	Run         string    `json:"run"`             // the run of this attempt, in its box
	Box         string    `json:"box"`             // ID of the container it was started in
	Session     string    `json:"session"`         // the CLI's session
	Resume      bool      `json:"resume"`          // the session existed before this attempt
	Base        string    `json:"base,omitempty"`  // the room's session when the task began: another one since then stays
	Interrupted bool      `json:"interrupted,omitempty"`
	Begun       time.Time `json:"begun"`    // of the first attempt, or of the newest answer
	Deadline    time.Time `json:"deadline"` // of this attempt
	Used        used      `json:"used,omitzero"`

	Execution *agent.Execution `json:"execution,omitempty"`
	Text      string           `json:"text,omitempty"` // of a task that was changed before it began
	Held      *agent.Held      `json:"held,omitempty"` // the command that the newest question is about
	Ran       *ranOnce         `json:"ran,omitempty"`  // its run, from the yes on
	Stop      *stopOrder       `json:"stop,omitempty"` // somebody wants the task to end
	Steer     []steerText      `json:"steer,omitempty"`
	Files     []broughtFile    `json:"files,omitempty"` // those that are in the box, or cannot be
	Told      int              `json:"told,omitempty"`  // so many of Steer a former run has heard
	Given     int              `json:"given,omitempty"` // and so many the present one

	// Set once the answer is in the outbox.
	Ended    agent.Ended `json:"ended,omitempty"`
	Answer   string      `json:"answer,omitempty"`   // for the history, cut
	Line     string      `json:"line,omitempty"`     // for status.md; empty when the agent wrote one
	Status   int64       `json:"status,omitempty"`   // size of status.md at the end of the run
	Resuming bool        `json:"resuming,omitempty"` // the session can be gone on with
}

// used is what a task has cost in the runs that ended before the present one.
type used struct {
	Time   time.Duration `json:"time,omitempty"` // at work, not waiting for a person
	Steps  int           `json:"steps,omitempty"`
	Tokens int64         `json:"tokens,omitempty"`
}

// with adds a run that ends now and was begun at a time.
func (u used) with(begun time.Time, out agent.Outcome) used {
	u.Time += time.Since(begun)
	u.Tokens += out.Usage.Total
	for _, n := range out.Tools {
		u.Steps += n
	}
	return u
}

// executionSpace is the name space of the IDs of executions (RFC 9562, 5.5).
var executionSpace = uuid.MustParse("6f0b9f0e-6a0c-5d8f-9d53-3a5f5a4d2c11")

// executionID names the execution of an event: the same in each life.
func executionID(room, event string) string {
	return uuid.NewSHA1(executionSpace, []byte(room+"\x00"+event)).String()
}

// newTask is a row as a task, with the record that it has.
func newTask(r *room, row state.Inbound) (*task, error) {
	t := &task{room: r, row: row, key: taskKey(row)}
	e, _ := parseEvent(row.Raw)
	begin := agent.ExecutionSpec{ID: executionID(row.Room, row.Event), Room: row.Room, TaskEvent: row.Event, Asker: row.Sender}
	if row.Type == typeExecute {
		var c wireExecute
		if err := json.Unmarshal(e.Content, &c); err != nil {
			return nil, fmt.Errorf("read submitted task: %w", err)
		}
		t.text = c.text()
		begin.ID, begin.TaskEvent, begin.Asker = strings.TrimPrefix(row.Event, executeEvent("")), "", ""
		begin.Transcript, begin.Commands = c.transcript(), c.Commands
	} else {
		m, _ := e.message()
		t.text = taskWords(taskText(m))
		if f, ok := fileOf(row); ok {
			t.text = fileTask(f, t.text)
		}
		begin.Transcript, begin.Commands = []string{t.text}, nil
	}
	if len(row.Task) > 0 {
		if err := json.Unmarshal(row.Task, &t.rec); err != nil {
			return nil, fmt.Errorf("read task record: %w", err)
		}
	}
	if sealed := row.Type == typeSealed || row.Type == typeUnreadable; sealed && t.rec.Execution != nil { // its key is lost
		t.text = strings.Join(t.rec.Execution.Transcript, "\n")
	}
	if t.rec.Text != "" {
		t.text = t.rec.Text
		begin.Transcript = []string{t.text}
	}
	if t.rec.Execution == nil {
		exec, err := agent.NewExecution(begin, time.Now())
		if err != nil {
			return nil, fmt.Errorf("begin execution: %w", err)
		}
		t.rec.Execution = exec
	}
	if t.rec.Text != "" {
		t.rec.Execution.Transcript = begin.Transcript
	}
	return t, nil
}

// taskWords is a text without the command that only says that it is a task.
func taskWords(text string) string {
	if c, rest, ok := parseCommand(text); ok && c.run == nil {
		return rest
	}
	return text
}

// encoded is the record for the journal.
func (t *task) encoded() (json.RawMessage, error) {
	data, err := json.Marshal(t.rec)
	if err != nil {
		return nil, fmt.Errorf("marshal task record: %w", err)
	}
	return data, nil
}

// asker is the user ID of who gave the task; "" when a program did.
func (t *task) asker() string {
	if t.row.Type == typeExecute {
		return ""
	}
	return t.row.Sender
}

// anchor is the event that the task's messages reply to: the task itself, or
// the notice of one that came by HTTP.
func (t *task) anchor() string {
	if t.row.Type == typeExecute {
		return txnRef + t.key + "-t"
	}
	return t.row.Event
}

// wireExecute is the content of a typeExecute row.
type wireExecute struct {
	Transcript string   `json:"transcript"`
	Commands   []string `json:"commands"`
}

func (c wireExecute) transcript() []string {
	if c.Transcript == "" {
		return nil
	}
	return []string{c.Transcript}
}

// text is the task as the agent reads it. Source: seed 000, "Plan to execute".
func (c wireExecute) text() string {
	parts := c.transcript()
	if len(c.Commands) > 0 {
		parts = append(parts, "Plan to execute:\n"+strings.Join(c.Commands, "\n"))
	}
	return strings.Join(parts, "\n\n")
}
