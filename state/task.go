package state

import "time"

// TaskState says where a task stands. The words are on disk.
//
//	queued   → running            its container is chosen, its run is about to start
//	running  → waiting → running  it asked a question, and has the answer
//	queued, running, waiting → answered   its result is queued as messages
//	any      → done               nothing is left to do
type TaskState string

const (
	TaskQueued   TaskState = "queued"
	TaskRunning  TaskState = "running"
	TaskWaiting  TaskState = "waiting"
	TaskAnswered TaskState = "answered"
	TaskDone     TaskState = "done"
)

// Source is where a task came from. The words are on disk.
type Source string

const (
	FromRoom Source = "room" // somebody wrote it
	FromHTTP Source = "http" // a program submitted it
)

// Task is one piece of work for the agent, from the message that asks for it to
// the result. The row has everything that is needed to go on with the task after
// a restart: nobody reads the event again.
type Task struct {
	Key       string // prefix of the IDs of its runs and messages
	Seq       int64  // its place in the room's queue: the Seq of its event
	Room      string // where it is worked on and answered
	Event     string // the message that asks for it
	Home      string // the room of Event; another one than Room after a room upgrade
	Thread    string // root of the thread that Event stands in, or ""
	ReplyTo   string // the event that Event replies to, or ""
	Source    Source
	Requester string    // user ID; for a task by HTTP, the bot's own
	Time      time.Time // when Event was written
	Execution string    // the ID that the HTTP API and state.json know the task by
	State     TaskState

	Text    string // what is to be done, without the commands in Details
	Edited  bool   // Text was changed by an edit before the task began
	HasFile bool   // Event carries a file

	Attempt     int       // number of the present run, 0 before the first
	Tries       int       // runs since the last answer
	Run         string    // ID of the present run in its container
	Container   string    // ID of the container of the present run, "" until it is chosen
	Session     string    // the agent's session
	Resume      bool      // the session existed before the present run
	BaseSession string    // the room's session when the task began
	Interrupted bool      // an earlier run was cut short
	Begun       time.Time // start of the first run, or of the first after the newest answer
	Deadline    time.Time // of the present run

	Question         string // that waits for an answer
	QuestionContext  string // what the agent was doing when it asked
	QuestionRoom     string // where it was asked; another one than Room until it is asked again after an upgrade
	QuestionEvent    string // its message, "" until it is sent
	QuestionDeadline time.Time
	HeldCommand      string // the command that the newest question is about, or ""
	HeldDir          string

	StopBy    string // who wants the task to end, or ""
	Withdrawn bool   // its message was redacted before it began
	Ended     string // how the last run ended, once there is a result
	Resumable bool   // Session can be continued
	Error     string // why it failed, in a sentence

	Created time.Time
	Updated time.Time // newest step of its execution
	Details
}

// Details is what a task consists of that no query asks for; one JSON column.
type Details struct {
	Commands []string `json:"commands,omitempty"` // a plan that came with a task by HTTP
	Answers  []Answer `json:"answers,omitempty"`  // to its questions, oldest first
	Said     []Said   `json:"said,omitempty"`     // what people added to it
	Told     int      `json:"told,omitempty"`     // how many of Said earlier runs were given
	Given    int      `json:"given,omitempty"`    // how many of Said the present run was given
	Files    []File   `json:"files,omitempty"`    // those that are in the container, or cannot be
	Approved *Command `json:"approved,omitempty"` // the run of the held command
	Used     Usage    `json:"used,omitzero"`

	Result     string `json:"result,omitempty"`      // what the room was told at the end
	StatusLine string `json:"status_line,omitempty"` // for status.md; empty when the agent wrote one
	StatusSize int64  `json:"status_size,omitempty"` // of status.md at the end of the run; -1 when unknown
}

// Answer is what a person said to a question.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by,omitempty"`    // user ID; "" by HTTP
	Event    string `json:"event,omitempty"` // the message; "" by HTTP or reaction
}

// Said is what somebody added to a task.
type Said struct {
	By    string `json:"by"` // user ID
	Text  string `json:"text"`
	Event string `json:"event"`
	// Joined is a message that came right behind the task, by the same person: a
	// part of it.
	Joined bool      `json:"joined,omitempty"`
	At     time.Time `json:"at"`             // of the event, as its server dates it
	File   bool      `json:"file,omitempty"` // the event carries a file
	Edited bool      `json:"edited,omitempty"`
}

// File is a file that came with a task.
type File struct {
	Event   string `json:"event"`
	Path    string `json:"path,omitempty"` // in the container
	Type    string `json:"type,omitempty"`
	Name    string `json:"name,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Caption string `json:"caption,omitempty"`
	Voice   bool   `json:"voice,omitempty"`
	Missing string `json:"missing,omitempty"` // why it is not in the container; then it has no path
}

// Command is the one run of an approved command. It is stored before the run is
// started: a command whose container is gone since then is not run again.
type Command struct {
	Container string `json:"container"`
	Over      bool   `json:"over,omitempty"`
	Output    string `json:"output,omitempty"`
	Result    string `json:"result,omitempty"` // how it ended, in words
}

// Usage is what a task has cost in the runs before the present one.
type Usage struct {
	Time   time.Duration `json:"time,omitempty"` // at work, not waiting for a person
	Steps  int           `json:"steps,omitempty"`
	Tokens int64         `json:"tokens,omitempty"`
}
