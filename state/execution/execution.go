// Package execution is the state machine of one task with its questions, as the journal stores it and the HTTP API
// shows it.
package execution

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"matrix-tui/state/clean"
	"matrix-tui/state/sentence"
)

// State is the state of an Execution.
type State string

const (
	Pending         State = "pending"
	Running         State = "running"
	WaitingForInput State = "waiting_for_input"
	Done            State = "completed"
	Failed          State = "failed"
)

// Limits of an Execution; a text's limit is in bytes. A person's text is refused if it is too long, the agent's is cut
// with an ellipsis.
const (
	MaxAnswers       = 32
	MaxAnswer        = 32 << 10
	maxQuestion      = 64 << 10 // and what it is about
	MaxAnsweredAbout = 4 << 10  // questions, each kept with its answer
	MaxCommands      = 64       // and entries of the transcript
	MaxCommand       = 64 << 10 // each of either
	MaxResult        = 64 << 10
	MaxTopics        = 16
	MaxTopic         = 200
	MaxErrorMessage  = 4 << 10
)

// Execution is one task with its questions, as it is stored and as the HTTP API shows
// it. State changes only through its methods, and a method that
// returns an error changes nothing. It is not safe for concurrent use.
type Execution struct {
	ID              string   `json:"session_id"` // a UUID
	State           State    `json:"state"`
	Transcript      []string `json:"transcript"` // what the person said
	Commands        []string `json:"commands"`   // what to do; without such a plan, the commands that the agent has run
	Results         []Result `json:"results"`
	CurrentQuestion string   `json:"current_question"` // "" unless it is waiting, null in JSON
	QuestionContext string   `json:"question_context"` // what the agent was doing when it asked; null in JSON if there is none
	Answers         []Answer `json:"answers"`          // oldest first
	Topics          []string `json:"topics"`           // telling words, once it has completed
	ErrorMessage    string   `json:"error_message"`    // "" unless it failed, null in JSON

	Room          string    `json:"room"`
	TaskEvent     string    `json:"task_event,omitempty"`     // "" if it came by HTTP
	Asker         string    `json:"asker,omitempty"`          // user ID
	QuestionEvent string    `json:"question_event,omitempty"` // "" until the question is in the room
	Deadline      time.Time `json:"deadline,omitzero"`        // of the current question

	Due       time.Time `json:"due,omitzero"` // when it goes on, if it waits for the model
	DueReason string    `json:"due_reason,omitempty"`

	CreatedAt time.Time `json:"created_at"` // UTC
	UpdatedAt time.Time `json:"updated_at"`
}

// QuestionNumber returns the number of the open question in the task, from 1; 0 if there is none.
func (e *Execution) QuestionNumber() int {
	if e.State != WaitingForInput {
		return 0
	}
	return len(e.Answers) + 1
}

// MarshalJSON writes optional fields that are empty as null, and the number of the open question.
func (e Execution) MarshalJSON() ([]byte, error) {
	type plain Execution
	if e.State != WaitingForInput { // a task that was given up keeps its question
		e.CurrentQuestion, e.QuestionContext, e.QuestionEvent, e.Deadline = "", "", "", time.Time{}
	}
	optional := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	return json.Marshal(struct {
		plain
		Number   int     `json:"question_number,omitempty"`
		Question *string `json:"current_question"` // these replace those of the embedded struct
		About    *string `json:"question_context"`
		Error    *string `json:"error_message"`
	}{plain(e), e.QuestionNumber(), optional(e.CurrentQuestion), optional(e.QuestionContext), optional(e.ErrorMessage)})
}

// Result is the output of an execution.
type Result struct {
	Output string `json:"output"`
}

// Answer is a person's answer to a question, verbatim.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by,omitempty"`    // user ID; "" by HTTP
	Event    string `json:"event,omitempty"` // the message; "" by HTTP or reaction
	Key      string `json:"key,omitempty"`   // identifies a request by HTTP that may be repeated, or ""
}

// Spec is what an execution starts from.
type Spec struct {
	ID, Room, TaskEvent, Asker string
	Transcript, Commands       []string
}

// TransitionError is a transition that the state machine does not have.
type TransitionError struct {
	ID       string
	From, To State
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("execution %s: invalid transition from %s to %s", e.ID, e.From, e.To)
}

// Sentence is for whoever requested the transition.
func (e *TransitionError) Sentence() string {
	if e.From != Pending && e.To == Running {
		return fmt.Sprintf("Session is %s, not waiting for input", e.From) // for an answer that comes too early or too late
	}
	return fmt.Sprintf("Session is %s, so it cannot become %s.", e.From, e.To)
}

// ErrLimit means that a limit of an execution is reached; the error has a sentence.
var ErrLimit = errors.New("over a limit")

func limitf(id, format string, args ...any) error {
	return sentence.Newf(fmt.Errorf("execution %s: %w", id, ErrLimit), format, args...)
}

// New returns a pending execution, or ErrLimit if it would be too large.
func New(b Spec, now time.Time) (*Execution, error) {
	for _, list := range [][]string{b.Transcript, b.Commands} {
		if len(list) > MaxCommands {
			return nil, limitf(b.ID, "A task has at most %d parts.", MaxCommands)
		}
		for _, s := range list {
			if len(s) > MaxCommand {
				return nil, limitf(b.ID, "A part of the task is longer than %d KiB.", MaxCommand>>10)
			}
		}
	}
	return &Execution{
		ID: b.ID, State: Pending, Room: b.Room, TaskEvent: b.TaskEvent, Asker: b.Asker,
		Transcript: append([]string{}, b.Transcript...), Commands: append([]string{}, b.Commands...),
		Results: []Result{}, Answers: []Answer{}, Topics: []string{},
		CreatedAt: now.UTC(), UpdatedAt: now.UTC(),
	}, nil
}

// Start is pending → running.
func (e *Execution) Start(now time.Time) error {
	if err := e.step(Running, Pending); err != nil {
		return err
	}
	e.enter(Running, now)
	return nil
}

// Ask is running → waiting_for_input, until deadline. After MaxAnswers answers it
// returns ErrLimit; the caller then fails the execution with its sentence.
func (e *Execution) Ask(question, context string, deadline, now time.Time) error {
	if err := e.step(WaitingForInput, Running); err != nil {
		return err
	}
	if len(e.Answers) >= MaxAnswers {
		return limitf(e.ID, "The agent asked more than %d questions in one task.", MaxAnswers)
	}
	e.enter(WaitingForInput, now)
	e.CurrentQuestion, e.QuestionContext = short(question, maxQuestion), short(context, maxQuestion)
	e.Deadline = deadline.UTC()
	return nil
}

// Posted records the event of the question. It is not a transition: only a waiting
// question has an event.
func (e *Execution) Posted(event string, now time.Time) error {
	if err := e.step(WaitingForInput, WaitingForInput); err != nil {
		return err
	}
	e.QuestionEvent, e.UpdatedAt = event, now.UTC()
	return nil
}

// Resume is waiting_for_input → running, with the answer in a.Answer; the question is
// filled in. Only the first answer succeeds: the next one is a *TransitionError. An
// empty or too long answer is ErrLimit.
func (e *Execution) Resume(a Answer, now time.Time) error {
	if err := e.step(Running, WaitingForInput); err != nil {
		return err
	}
	if err := e.fits(a.Answer); err != nil {
		return err
	}
	a.Question = short(e.CurrentQuestion, MaxAnsweredAbout)
	e.Answers = append(e.Answers, a)
	e.enter(Running, now)
	return nil
}

// Amend replaces the text of the newest answer if it came from that event and the
// execution is running, and reports whether it did. The caller knows whether the agent
// has already seen the old text.
func (e *Execution) Amend(event, answer string, now time.Time) (bool, error) {
	last := len(e.Answers) - 1
	if e.State != Running || event == "" || last < 0 || e.Answers[last].Event != event {
		return false, nil
	}
	if err := e.fits(answer); err != nil {
		return false, err
	}
	e.Answers[last].Answer, e.UpdatedAt = answer, now.UTC()
	return true, nil
}

// Complete is running → completed.
func (e *Execution) Complete(output string, topics []string, now time.Time) error {
	if err := e.step(Done, Running); err != nil {
		return err
	}
	e.Results = append(e.Results, Result{short(output, MaxResult)}) // there is one way in
	for _, topic := range topics[:min(len(topics), MaxTopics)] {
		e.Topics = append(e.Topics, short(topic, MaxTopic))
	}
	e.enter(Done, now)
	return nil
}

// Fail is running or waiting_for_input → failed; reason is one sentence.
func (e *Execution) Fail(reason string, now time.Time) error {
	if err := e.step(Failed, Running, WaitingForInput); err != nil {
		return err
	}
	e.ErrorMessage = short(reason, MaxErrorMessage)
	e.enter(Failed, now)
	return nil
}

// Expire is waiting_for_input → failed, because nobody answered within limit
// (EXECUTION_TIMEOUT_MINUTES).
func (e *Execution) Expire(limit time.Duration, now time.Time) error {
	if err := e.step(Failed, WaitingForInput); err != nil {
		return err
	}
	return e.Fail(fmt.Sprintf("Timed out waiting for user input (%dmin)", limit/time.Minute), now)
}

// step returns nil if the execution is in one of the given states.
func (e *Execution) step(to State, from ...State) error {
	if slices.Contains(from, e.State) {
		return nil
	}
	return &TransitionError{ID: e.ID, From: e.State, To: to}
}

// enter changes the state and clears the question of the old one.
func (e *Execution) enter(s State, now time.Time) {
	e.State, e.UpdatedAt = s, now.UTC()
	e.CurrentQuestion, e.QuestionContext, e.QuestionEvent, e.Deadline = "", "", "", time.Time{}
}

func (e *Execution) fits(answer string) error {
	switch {
	case strings.TrimSpace(answer) == "":
		return limitf(e.ID, "An empty message is not an answer.")
	case len(answer) > MaxAnswer:
		return limitf(e.ID, "The answer is longer than %d KiB. Put it into a file and send me that.", MaxAnswer>>10)
	}
	return nil
}

// short cuts the agent's text to n bytes of valid UTF-8.
func short(s string, n int) string {
	return clean.Cut(strings.ToValidUTF8(clean.Clip(s, n+utf8.UTFMax), "\uFFFD"), n)
}
