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

// Container is what a task needs of a room's container; *sandbox.Container is one.
type Container interface {
	// StartRun starts the run unless there is one of that ID already.
	StartRun(ctx context.Context, spec sandbox.RunSpec) (existed bool, err error)
	// FollowRun writes the run's output from offset on to w, until it has ended.
	FollowRun(ctx context.Context, id string, offset int64, w io.Writer) (sandbox.RunStatus, error)
	// StopRun returns when everything the run started is gone.
	StopRun(ctx context.Context, id string) error
}

// Task is one prompt for the agent.
type Task struct {
	// Run names the run in its container: [A-Za-z0-9_-]{1,64}. The same name is the
	// same run, however often it is asked for.
	Run string
	// Session is the CLI's session, a UUID made by the caller.
	Session string
	// Resume goes on with that session; without it the session begins here.
	Resume bool
	// Prompt is the whole text for the model, at most MaxPrompt bytes, no NUL.
	Prompt string
	// Model is the model's name; "" is DefaultModel.
	Model string
	// Deadline ends the run (CODING_TIMEOUT_SECONDS after its start); the zero
	// time is no deadline.
	Deadline time.Time
	// Files are written into the container before the start, after the CLI's own
	// settings.
	Files []sandbox.File
	// Without are files that must not be there for the run to start: it is
	// sandbox.ErrFileExists when one is.
	Without []string
	// Watch are files whose growth Outcome.Status tells.
	Watch []string
	// Approvals are beginnings of commands, each a few words ("git push", or
	// "curl … | sh" for a download that a shell reads), that need a person's
	// yes: such a command is held back, and the run ends as NeedsApproval. nil
	// is none.
	Approvals []string
	// Attached says that the run was started before: it is only followed. One
	// that is not there (any more) ends as Interrupted.
	Attached bool
	// Stop, when it is closed, stops the run: Ended is Stopped then. It may be
	// nil. (A StopRun from elsewhere ends the task too, but is told from an
	// end for want of memory only when the CLI had time to leave by itself.)
	Stop <-chan struct{}
}

// EventKind says what an Event is about.
type EventKind string

const (
	// EventText is a piece of the assistant's text, as it comes.
	EventText EventKind = "text"
	// EventTool is a tool that was called.
	EventTool EventKind = "tool"
	// EventToolResult is the end of a tool call.
	EventToolResult EventKind = "tool_result"
	// EventError is a warning or an error that the CLI printed.
	EventError EventKind = "error"
	// EventSlow says that nothing has come for a while: the model is slow, or
	// the CLI retries (which it does in silence).
	EventSlow EventKind = "slow"
)

// Event is one step of a run, for those who watch it.
type Event struct {
	Kind EventKind
	// ID ties an EventToolResult to its EventTool.
	ID string
	// Tool is the tool's name, with EventTool and EventToolResult.
	Tool string
	// Detail is the one argument a person looks for (a command, a path), on
	// one line of at most 200 characters; with EventToolResult the output or
	// error, with EventError the message.
	Detail string
	// Text is the piece of text of EventText.
	Text string
	// Failed says that the tool, or the run, met an error.
	Failed bool
	// Quiet is how long nothing has come, with EventSlow.
	Quiet time.Duration
}

// Ended says why a task is over.
type Ended string

const (
	// Completed is an answer.
	Completed Ended = "completed"
	// Empty is an end without an error and without a word.
	Empty Ended = "empty"
	// ModelError is an API that refused or broke: overload, quota, 5xx.
	ModelError Ended = "model_error"
	// TimedOut is a deadline that passed.
	TimedOut Ended = "timed_out"
	// Stopped is a run that was told to stop.
	Stopped Ended = "stopped"
	// SessionGone is a session that cannot be resumed: begin a new one with
	// the history in the prompt. Nothing was done in this run.
	SessionGone Ended = "session_gone"
	// Interrupted is a run that went down with its container, or is not there: ask
	// again in the same session, and say in the prompt that it was interrupted.
	Interrupted Ended = "interrupted"
	// NoAuth is a key that was refused or is missing.
	NoAuth Ended = "no_auth"
	// TurnLimit is the CLI's limit on turns.
	TurnLimit Ended = "turn_limit"
	// OutOfMemory is a run that the container's memory limit ended.
	OutOfMemory Ended = "out_of_memory"
	// Crashed is any other end without a result.
	Crashed Ended = "crashed"
	// NeedsInput is an answer with a question in it: Outcome.Signal has it. The
	// session goes on with the answer.
	NeedsInput Ended = "needs_input"
	// QuestionCut is an answer that broke off within a question; Text is all of
	// it as it was.
	QuestionCut Ended = "question_cut"
	// NeedsApproval is a command that was held back: Outcome.Held has it. The
	// session goes on when somebody has said yes or no.
	NeedsApproval Ended = "needs_approval"
)

// Usage counts tokens, as the CLI's result states them.
type Usage struct {
	Input, Output, Cached, Total int64
}

// Held is a shell command that was not run, because it needs a person's yes.
type Held struct {
	// Command is the command line, as the model wrote it.
	Command string
	// Dir is where it was to run: an absolute path, /workspace when the model
	// said none.
	Dir string
}

// Outcome is what a task came to. A task that went wrong is an Outcome too:
// errors are only for what kept us from knowing.
type Outcome struct {
	// Text is the final answer: what the assistant said after its last tool
	// call, or all it said when it said nothing after that. At most MaxText.
	Text string
	// Session is the CLI's session, to be resumed by the next task; "" when
	// there is nothing to resume, because the session's first turn failed.
	Session string
	Usage   Usage
	// Tools counts the calls of each tool.
	Tools map[string]int
	// Ended says why it is over.
	Ended Ended
	// Detail is one sentence for the room where Ended is not Completed.
	Detail string
	// Signal is the first question of the run, with NeedsInput; with QuestionCut
	// its Kind is CutOff. Otherwise it is zero.
	Signal Signal `json:",omitzero"`
	// Held is the command that waits for a yes, the first of the run, with
	// NeedsApproval; otherwise nil.
	Held *Held `json:",omitzero"`
	// Truncated says that a part of the output or of the text was dropped.
	Truncated bool
	// Duration is the run's own, from its start to its end in the container.
	Duration time.Duration
	// Status is the run as the container saw it, with the watched files.
	Status sandbox.RunStatus
}
