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

// LeftWhileRunning is why a task has no result that ran when the bot left its room.
const LeftWhileRunning = "The bot left the room while the task was running."

// Source is where a task came from. The words are on disk.
type Source string

const (
	FromRoom     Source = "room"     // somebody wrote it
	FromHTTP     Source = "http"     // a program submitted it
	FromSchedule Source = "schedule" // it was due
)

// Task is one piece of work for the agent, from the message that requests it to the result. The row contains everything
// needed to continue the task after a restart: nobody reads the event again.
type Task struct {
	Key       string // prefix of the IDs of its runs and messages
	Seq       int64  // its place in the room's queue: the Seq of its event
	Room      string // where it runs and is answered
	Event     string // the message that requests it
	Home      string // the room of Event; differs from Room after a room upgrade
	Thread    string // root of the thread that Event is in, or ""
	ReplyTo   string // the event that Event replies to, or ""
	Source    Source
	Requester string    // user ID; for a task by HTTP, the bot's own
	Time      time.Time // when Event was sent
	Execution string    // its ID in the HTTP API
	State     TaskState

	Text    string // what to do, without the commands in Details
	Edited  bool   // Text was changed by an edit before the task started
	HasFile bool   // Event has a file

	Attempt     int       // number of the current run, 0 before the first
	Tries       int       // runs since the last answer
	Run         string    // ID of the current run in its container
	Container   string    // ID of the container of the current run, "" until it is chosen
	Session     string    // the agent's session
	Resume      bool      // the session existed before the current run
	BaseSession string    // the room's SessionMark when the task started
	Interrupted bool      // an earlier run was interrupted
	Begun       time.Time // start of the first run, or of the first after the newest answer
	Deadline    time.Time // of the current run

	Question         string // that is waiting for an answer
	QuestionContext  string // what the agent was doing when it asked
	QuestionRoom     string // where it was asked; differs from Room until it is asked again after an upgrade
	QuestionEvent    string // its message, "" until it is sent
	QuestionDeadline time.Time
	HeldCommand      string // the command that the newest question is about, or ""
	HeldDir          string

	StopBy    string // who asked to stop the task, or ""
	Withdrawn bool   // its message was redacted before the task started
	Ended     string // how the last run ended, once there is a result
	Resumable bool   // Session can be resumed
	Error     string // why it failed, in a sentence

	Created time.Time
	Updated time.Time // latest transition of its execution
	Details
}

// Details are the parts of a task that no query needs; one JSON column.
type Details struct {
	Commands []string `json:"commands,omitempty"` // a plan that came with a task by HTTP
	Answers  []Answer `json:"answers,omitempty"`  // to its questions, oldest first
	Said     []Said   `json:"said,omitempty"`     // what people added to it
	Told     int      `json:"told,omitempty"`     // how many of Said earlier runs received
	Given    int      `json:"given,omitempty"`    // how many of Said the current run received
	Around   string   `json:"around,omitempty"`   // what the agent said before and after its open question
	Model    string   `json:"model,omitempty"`    // of the current run
	Nonce    string   `json:"nonce,omitempty"`    // random, of the newest question
	Budget   int      `json:"budget,omitempty"`   // the number of the question for more tokens, from 1; 0 unless it is the newest
	Allowed  int64    `json:"allowed,omitempty"`  // tokens that people have allowed it beyond the room's limit
	Overflow bool     `json:"overflow,omitempty"` // an earlier run's session became too long for the model
	Refused  bool     `json:"refused,omitempty"`  // the model's API refused the history of an earlier run's session
	Compact  bool     `json:"compact,omitempty"`  // it summarises the room's session
	Summary  string   `json:"summary,omitempty"`  // its result
	// Compacted says that the task has replaced the room's session by one that starts with the conversation.
	Compacted bool      `json:"compacted,omitempty"`
	Files     []File    `json:"files,omitempty"`    // those that are in the container, or cannot be
	Approved  *Command  `json:"approved,omitempty"` // the run of the held command
	Due       Due       `json:"due,omitzero"`
	Scheduled Scheduled `json:"scheduled,omitzero"` // of a run of an entry
	Used      Usage     `json:"used,omitzero"`
	Calls     []Call    `json:"calls,omitempty"`    // the newest calls of tools, oldest first
	Lost      []string  `json:"lost,omitempty"`     // packages that could not be reinstalled in a new container
	Restored  string    `json:"restored,omitempty"` // the container in which the room's packages were reinstalled

	Result     string `json:"result,omitempty"`      // the final message to the room
	StatusLine string `json:"status_line,omitempty"` // for status.md; empty if the agent wrote a complete entry
	StatusSize int64  `json:"status_size,omitempty"` // of status.md at the end of the run; -1 if unknown
	NoOutbox   bool   `json:"no_outbox,omitempty"`   // the last run ended without an outbox in its container
}

// Due is for a task that is queued or running but has nothing to do before a time.
type Due struct {
	At     time.Time     `json:"at,omitzero"`      // when it goes on; zero if it does not wait
	Why    string        `json:"why,omitempty"`    // a sentence for the room
	Waited time.Duration `json:"waited,omitempty"` // in all, with the present wait
	// Begun says that an earlier run has called tools before it had to wait: part of the task may be done.
	Begun bool `json:"begun,omitempty"`
}

// Scheduled says which run of a schedule a task is.
type Scheduled struct {
	Number int           `json:"number,omitempty"` // of the entry
	Entry  string        `json:"entry,omitempty"`  // its Key
	At     time.Time     `json:"at,omitzero"`      // when it was due
	Late   time.Duration `json:"late,omitempty"`   // when it was queued
	Missed int           `json:"missed,omitempty"` // runs that it stands for besides itself
	Asked  bool          `json:"asked,omitempty"`  // somebody wants it now
	Gate   string        `json:"gate,omitempty"`   // a shell command that decides whether the agent starts, or ""
}

// Answer is a person's answer to a question.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by,omitempty"`    // user ID; "" by HTTP
	Event    string `json:"event,omitempty"` // the message; "" by HTTP or reaction
	Key      string `json:"key,omitempty"`   // identifies a request by HTTP that may be repeated, or ""
}

// Call is a call of a tool that has ended.
type Call struct {
	Tool   string        `json:"tool"`
	Detail string        `json:"detail,omitempty"` // its argument, one line
	Output string        `json:"output,omitempty"` // the beginning of its result, one line
	Failed bool          `json:"failed,omitempty"`
	Took   time.Duration `json:"took,omitempty"`
}

// Said is something that somebody added to a task.
type Said struct {
	By    string `json:"by"` // user ID
	Text  string `json:"text"`
	Event string `json:"event"`
	// Joined is a message right after the task's, by the same person: a part of it.
	Joined bool      `json:"joined,omitempty"`
	At     time.Time `json:"at"`             // of the event, in its server's clock
	File   bool      `json:"file,omitempty"` // the event has a file
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

// Command is the single run of an approved command. It is stored before the run starts: if its container is gone, the
// command is not run again.
type Command struct {
	Container string `json:"container"`
	Over      bool   `json:"over,omitempty"`
	Output    string `json:"output,omitempty"`
	Failed    bool   `json:"failed,omitempty"`
	Result    string `json:"result,omitempty"` // how it ended, in words
}

// Usage is the cost of the task's runs: of those before the current one or, once it has its result, of all.
type Usage struct {
	Time   time.Duration `json:"time,omitempty"` // running, not waiting for a person
	Steps  int           `json:"steps,omitempty"`
	Tokens int64         `json:"tokens,omitempty"`
}
