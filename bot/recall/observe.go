package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

// Task is a finished task, as it was observed.
type Task struct {
	Room    string
	ID      string // of the execution
	Event   string // the message that requested it
	By      string // localpart of who requested it
	Session string // of the agent
	Before  string // the task before it in this room, for a correction of it
	Began   time.Time
	Ended   time.Time
	Said    []Said // the task, and what people said while it ran, oldest first
	Answers []Answer
	Calls   []Call
	Success bool
	Result  string // as the room was told
	// Edits returns what messages of the task say now, the oldest first; nil if that is what Said and Answers have.
	Edits func(ctx context.Context) ([]Edit, error)
}

// Said is a message of a person.
type Said struct{ Event, By, Text string }

// Answer is a question of the agent and a person's answer.
type Answer struct{ Question, Answer, By, Event string }

// Call is a call of a tool.
type Call struct {
	Tool, Detail, Output string
	Failed               bool
	Took                 time.Duration
}

const (
	maxField  = 300     // bytes of a field of an entry
	maxSaid   = 8 << 10 // bytes of a message: filtering takes about a microsecond each
	logFolder = "memory/"
	mainFile  = "MEMORY.md"
	// contextFile has the newest tasks only: the daily logs have all of them.
	contextFile = "context.md"
	maxPrior    = 30
)

// learned is what a task taught.
type learned struct {
	docs       []memory.Document
	lines      []memory.Line
	correction string

	// Parts of docs and lines.
	answers                []memory.Document
	answerLines, wishLines []memory.Line
}

// observe decides what is kept of a task: nothing secret, no approval, and no instruction that somebody planted.
func (f *Filter) observe(t Task) (l learned) {
	o := observer{Filter: f, task: t, secrets: secretsIn(t.Answers)}
	l.docs = append(o.conversation(), o.executions()...)
	l.answers, l.answerLines = o.answers()
	docs, lines, correction := o.wishes()
	l.correction, l.wishLines = correction, lines
	l.docs = append(append(l.docs, l.answers...), docs...)
	l.lines = append(append(append(slices.Clone(l.answerLines), lines...), o.log()...), o.prior()...)
	return l
}

// secretsIn returns the answers that are secrets.
func secretsIn(answers []Answer) (secrets []string) {
	for _, a := range answers {
		if AsksForSecret(a.Question) {
			secrets = append(secrets, strings.TrimSpace(a.Answer))
		}
	}
	return secrets
}

// keep returns a text as it may be kept, or "".
func (f *Filter) keep(text string, secrets ...string) string {
	text = clean.Cut(text, maxSaid)
	if Instructs(text) {
		return ""
	}
	return clean.Clip(f.Clean(text, secrets...), maxSaid)
}

type observer struct {
	*Filter
	task    Task
	secrets []string // learned in this task
}

// short returns a text as one field of an entry.
func (o observer) short(text string) string {
	text = o.keep(text, o.secrets...)
	return clean.Line(strings.ReplaceAll(text, " | ", " / "), maxField)
}

// asked is the task in one line.
func (o observer) asked() string {
	if len(o.task.Said) == 0 {
		return ""
	}
	return o.short(withoutQuotes(o.task.Said[0].Text))
}

// outcome is the first line of the result.
func (o observer) outcome() string {
	first, _, _ := strings.Cut(strings.TrimSpace(o.task.Result), "\n")
	if first = o.short(first); first == "" {
		return "–"
	}
	return first
}

// conversation is what was said, one entry for each message.
func (o observer) conversation() []memory.Document {
	t, doc := o.task, memory.Document{Source: memory.SourceTranscript, Path: conversationPath(o.task.Room, o.task.Event), Origin: memory.OriginTask}
	add := func(at time.Time, speaker, text, event string) {
		n := len(doc.Entries) + 1
		doc.Entries = append(doc.Entries, memory.Entry{From: n, To: n, Time: at, Speaker: speaker, Text: o.keep(text, o.secrets...), Event: event})
	}
	for _, said := range t.Said {
		add(t.Began, whom(said.By), said.Text, said.Event)
	}
	for _, a := range t.Answers {
		add(t.Ended, "question", a.Question, "")
		if !AsksForSecret(a.Question) {
			add(t.Ended, whom(a.By), a.Answer, a.Event)
		}
	}
	add(t.Ended, "assistant", t.Result, "")
	return []memory.Document{doc}
}

// executions is the task and what the agent did for it.
func (o observer) executions() []memory.Document {
	t, doc := o.task, memory.Document{Source: memory.SourceExecution, Path: executionPath(o.task.ID), Origin: memory.OriginTask}
	add := func(command, outcome string, success bool, took time.Duration) {
		if command = o.short(command); command == "" {
			return
		}
		if outcome = o.short(outcome); outcome == "" {
			outcome = "no output"
		}
		n := len(doc.Entries) + 1
		doc.Entries = append(doc.Entries, memory.Entry{From: n, To: n, Time: t.Ended, Alone: true, Event: t.Event,
			Text: fmt.Sprintf("Command: %s | Outcome: %s | Success: %t | Duration: %.1fs", command, outcome, success, took.Seconds())})
	}
	add(o.asked(), o.outcome(), t.Success, t.Ended.Sub(t.Began))
	for _, c := range t.Calls {
		command := c.Detail
		if c.Tool != ShellTool {
			command = strings.TrimSpace(c.Tool + " " + c.Detail)
		}
		add(command, c.Output, !c.Failed, c.Took)
	}
	return []memory.Document{doc}
}

// answers are the questions with their answers, without those that only allowed something.
func (o observer) answers() (docs []memory.Document, lines []memory.Line) {
	doc := memory.Document{Source: memory.SourceAnswer, Path: "answer/" + o.task.ID, Origin: memory.OriginTask}
	for _, a := range o.task.Answers {
		if Approval(a.Question, a.Answer) || AsksForSecret(a.Question) || LooksSecret(a.Answer) {
			continue
		}
		question, answer := o.short(a.Question), o.short(a.Answer)
		if question == "" || answer == "" {
			continue
		}
		text := "Q: " + question + " | A: " + answer
		if about := o.asked(); about != "" {
			text += " | Context: " + about
		}
		n := len(doc.Entries) + 1
		doc.Entries = append(doc.Entries, memory.Entry{From: n, To: n, Time: o.task.Ended, Alone: true, Text: text, Event: a.Event})
		lines = append(lines, memory.Line{Event: a.Event, Path: mainFile, Section: "Answers", Text: text})
	}
	if len(doc.Entries) > 0 {
		docs = append(docs, doc)
	}
	return docs, lines
}

// parseAnswer takes an answer as it is kept apart.
func parseAnswer(text string) (question, answer string, ok bool) {
	rest, ok := strings.CutPrefix(text, "Q: ")
	question, rest, ok2 := strings.Cut(rest, " | A: ")
	answer, _, _ = strings.Cut(rest, " | Context: ")
	return question, answer, ok && ok2
}

// withoutQuotes leaves out lines that quote somebody.
func withoutQuotes(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), ">") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, " ")
}

func whom(by string) string {
	if by == "" {
		return "user"
	}
	return by
}

func notInWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// common are words that say nothing about what an answer is about.
var common = map[string]bool{"the": true, "use": true, "and": true, "not": true, "please": true, "instead": true, "should": true, "which": true, "for": true, "with": true}
