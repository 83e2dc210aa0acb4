// Package agent does one task in a room's container: it starts Gemini CLI there,
// reads the CLI's event stream and reports how the task ended.
//
// A run belongs to the container, not to the process that reads it. When that
// process ends, the run continues, and the next process reads its output again
// from the beginning.
//
// The package decides nothing about rooms, people or policy. It stores nothing
// on the host and never sees the real API key: the container gets a placeholder.
package agent

import (
	"context"
	"io"
	"time"

	"matrix-tui/sandbox"
)

// Container is what a task needs of a room's container; *sandbox.Container implements
// it.
type Container interface {
	// Run starts the run, unless a run with that ID already exists, calls begun, and follows it from the beginning.
	Run(ctx context.Context, spec sandbox.RunSpec, w io.Writer, begun func(existed bool)) (sandbox.RunStatus, error)
	// FollowRun writes the run's output from offset on to w, and returns when the run has ended.
	FollowRun(ctx context.Context, id string, offset int64, w io.Writer) (sandbox.RunStatus, error)
	// ParkRun starts a run that waits for its input.
	ParkRun(ctx context.Context, p sandbox.Parking) (until time.Time, err error)
	// StopRun stops everything that the run started and returns when it is gone.
	StopRun(ctx context.Context, id string) error
	// Restart stops everything in the container and starts it again.
	Restart(ctx context.Context, why error) error
}

// Task is one prompt for the agent.
type Task struct {
	// Run is the ID of the run in its container: [A-Za-z0-9_-]{1,64}. The same ID is
	// the same run, however often it is started.
	Run string
	// Session is the CLI's session, a UUID chosen by the caller.
	Session string
	// Resume continues that session; otherwise a new session starts.
	Resume bool
	// Needed are the other sessions that the room will continue. Of all the others, the CLI keeps the newest 20. With
	// nil it keeps all.
	Needed []string
	// Prompt is the whole text for the model, at most MaxPrompt bytes, no NUL.
	Prompt string
	// Model is the model's name; "" is DefaultModel.
	Model string
	// Zone is the room's time zone, one with an IANA name; nil is UTC.
	Zone *time.Location
	// Deadline ends the run (CODING_TIMEOUT_SECONDS after its start); the zero time
	// means no deadline.
	Deadline time.Time
	// Limit is CODING_TIMEOUT_SECONDS, for the sentence that says that the run was stopped; 0 = unknown.
	Limit time.Duration
	// Files are written into the container before the start, after the CLI's own
	// settings.
	Files []sandbox.File
	// Without are files that must not exist when the run starts; if one does, the error
	// is sandbox.ErrFileExists.
	Without []string
	// Forget are earlier runs that the container may forget.
	Forget []string
	// Watch are files whose growth is reported in Outcome.Status.
	Watch []string
	// Approvals are prefixes of commands, each a few words ("git push", or "curl … |
	// sh" for a download piped to a shell), that need a person's approval: such a
	// command is not run, and the run ends as NeedsApproval. nil means none.
	Approvals []string
	// Attached means that the run was already started and is only followed. If it does not exist (any more), it ends as
	// Interrupted.
	Attached bool
	// Stop stops the run when it is closed; Ended is then Stopped. It may be nil. (A StopRun from elsewhere also ends
	// the task, but looks like an out-of-memory kill unless the CLI had time to exit by itself.)
	Stop <-chan struct{}
}

// EventKind is the kind of an Event.
type EventKind string

const (
	// EventText means that the assistant has said more.
	EventText EventKind = "text"
	// EventTool is a tool call.
	EventTool EventKind = "tool"
	// EventToolResult is the end of a tool call.
	EventToolResult EventKind = "tool_result"
	// EventError is a warning or error that the CLI printed.
	EventError EventKind = "error"
	// EventSlow means that nothing has arrived for a while: the model is slow, or the
	// CLI is retrying, which it does silently.
	EventSlow EventKind = "slow"
	// EventSilent means that a tool is running and has printed nothing for a while, or, if Quiet is 0, that it prints.
	EventSilent EventKind = "silent"
)

// Event is one step of a run.
type Event struct {
	Kind EventKind
	// ID ties an EventToolResult to its EventTool.
	ID string
	// Tool is the tool's name, with EventTool and EventToolResult.
	Tool string
	// Detail is the one argument that matters to a person (a command, a path), on one line of at most 200 characters;
	// with EventToolResult the output or error, with EventError the message.
	Detail string
	// Purpose is, with EventTool, what the agent says that the call is for, on one line of at most 200 characters; "" if
	// it does not say so.
	Purpose string `json:",omitempty"`
	// Text is, with EventText, the end of what the assistant has said since its last tool call, without a question to a
	// person: at most MaxDraft bytes. Of a longer text, it begins anywhere.
	Text string
	// Failed says that the tool or the run failed.
	Failed bool
	// Quiet is the time since the last output, with EventSlow and EventSilent.
	Quiet time.Duration
}

// Ended says how a task ended.
type Ended string

const (
	// Completed: the task has an answer.
	Completed Ended = "completed"
	// Empty: the model's last answer has no text, or was cut off at the model's output limit. See Outcome.WithPrompt.
	Empty Ended = "empty"
	// ModelError: the model's API rejected a request or failed.
	ModelError Ended = "model_error"
	// Unavailable: the model takes no requests for now, because of a quota or an overload. Run the task again later, in
	// the same session. This run may have done a part of it.
	Unavailable Ended = "unavailable"
	// TimedOut: the deadline passed.
	TimedOut Ended = "timed_out"
	// Stopped: the run was stopped on request.
	Stopped Ended = "stopped"
	// SessionGone: the session cannot be resumed. Start a new one with the history in
	// the prompt. This run did nothing.
	SessionGone Ended = "session_gone"
	// Overflow: the session has become too long for the model, and cannot be continued. Start a new one with the history
	// in the prompt. This run may have done a part of the task.
	Overflow Ended = "overflow"
	// HistoryRefused: the model's API refuses the session's history, and would refuse it again. Start a new one with the
	// history in the prompt. This run may have done a part of the task.
	HistoryRefused Ended = "history_refused"
	// Limited: the room has used up its tokens for today.
	Limited Ended = "limited"
	// Interrupted: the run went down with its container, or does not exist. Run it
	// again in the same session, and say in the prompt that it was interrupted.
	Interrupted Ended = "interrupted"
	// ModelGone: the API has no such model, or not for this key. With another model, the session can be continued. This
	// run may have done a part of the task.
	ModelGone Ended = "model_gone"
	// NoAuth: the API key was rejected or is missing.
	NoAuth Ended = "no_auth"
	// TurnLimit: the CLI reached its turn limit.
	TurnLimit Ended = "turn_limit"
	// OutOfMemory: the container's memory limit ended the run.
	OutOfMemory Ended = "out_of_memory"
	// Crashed: the run ended without a result for any other reason.
	Crashed Ended = "crashed"
	// NeedsInput: the answer contains a question, see Outcome.Signal. The answer to it
	// continues the session.
	NeedsInput Ended = "needs_input"
	// QuestionCut: the answer broke off in the middle of a question; Text contains all words of it.
	QuestionCut Ended = "question_cut"
	// NeedsApproval: a command is waiting for approval, see Outcome.Held. The session
	// continues after the decision.
	NeedsApproval Ended = "needs_approval"
)

// Usage counts tokens, as reported in the CLI's result.
type Usage struct {
	Input, Output, Cached, Total int64
}

// Held is a shell command that was not run because it needs approval.
type Held struct {
	// Command is the command line as the model wrote it.
	Command string
	// Dir is the directory to run it in: an absolute path, /workspace by default.
	Dir string
}

// Outcome is the result of a task, including a failed one. Run returns an error only if the outcome is unknown.
type Outcome struct {
	// Text is the final answer: what the assistant said after its last tool call, or everything it said if there was no
	// text after that. At most MaxText bytes, without markers of a question: see Unmark.
	Text string
	// Session is the CLI's session, to be resumed by the next task; "" if there is nothing to resume, because the
	// session's first turn failed.
	Session string
	Usage   Usage
	// Tools counts the calls of each tool.
	Tools map[string]int
	// Calls are the newest calls of tools that have ended, oldest first, at most 50.
	Calls []Call `json:",omitempty"`
	// Ended says how the task ended.
	Ended Ended
	// Detail is one sentence for the room where Ended is not Completed.
	Detail string
	// Signal is the first question of the run, with NeedsInput; with QuestionCut
	// its Kind is CutOff. Otherwise it is zero.
	Signal Signal `json:",omitzero"`
	// Held is the first command of the run that needs approval, with NeedsApproval; otherwise nil.
	Held *Held `json:",omitzero"`
	// Cut is one sentence that says why the model did not finish Text, with Completed; "" if it did. See WithFinish.
	Cut string `json:",omitempty"`
	// Truncated says that a part of the output or of the text was lost.
	Truncated bool
	// Duration is the run's own, from its start to its end in the container.
	Duration time.Duration
	// Status is the run's status as recorded in the container, with the watched files.
	Status sandbox.RunStatus
}
