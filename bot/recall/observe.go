package recall

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/workspace"
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

// wishes are the preferences, facts and decisions that people stated, and a correction of the task before.
func (o observer) wishes() (docs []memory.Document, lines []memory.Line, correction string) {
	t := o.task
	add := func(kind, value string, said Said, about string) {
		if value = o.short(value); value == "" {
			return
		}
		text := fmt.Sprintf("%s: %s (learned from: %s, %s%s)", kind, value, whom(said.By), t.Began.Format(time.DateOnly), about)
		docs = append(docs, memory.Document{Source: memory.SourceNote, Path: fmt.Sprintf("%s/%s/%d", kind, t.ID, len(docs)), Origin: kind,
			Entries: []memory.Entry{{From: 1, To: 1, Time: t.Began, Text: text, Event: said.Event, Alone: true}}})
		lines = append(lines, memory.Line{Event: said.Event, Path: mainFile, Section: sections[kind], Text: text})
	}
	for i, said := range t.Said {
		for _, p := range Preferences(said.Text) {
			add(p.Kind, p.Value, said, "")
		}
		value, ok := Correction(said.Text)
		if !ok {
			continue
		}
		about := t.Before
		if i > 0 {
			about = t.Said[0].Text
		}
		if about = o.short(withoutQuotes(about)); about != "" {
			about = ", about: " + clean.Line(about, 120)
		}
		add("correction", value, said, about)
		correction = o.short(value)
	}
	return docs, lines, correction
}

// sections are the headings of MEMORY.md, by kind.
var sections = map[string]string{"preference": "Preferences", "correction": "Preferences", "fact": "Facts", "decision": "Decisions"}

// log is the entry of the daily log.
func (o observer) log() []memory.Line {
	t := o.task
	task := o.asked()
	if task == "" {
		return nil
	}
	text := fmt.Sprintf("%s %s: %s → %s (%s", t.Ended.Format("15:04:05"), whom(t.By), clean.Line(task, 160), clean.Line(o.outcome(), 200), t.Ended.Sub(t.Began).Round(100*time.Millisecond))
	if n := len(t.Calls); n > 0 {
		text += fmt.Sprintf(", %d %s", n, map[bool]string{true: "step", false: "steps"}[n == 1])
	}
	if files := changed(t.Calls); len(files) > 0 {
		text += "; changed " + o.short(strings.Join(files, ", "))
	}
	path := logFolder + t.Ended.Format(time.DateOnly) + ".md"
	return []memory.Line{{Event: t.Event, Path: path, Text: text + ")"}}
}

// prior is the line in context.md of a task that did something.
func (o observer) prior() []memory.Line {
	t := o.task
	task := o.asked()
	if task == "" || !t.Success || len(t.Calls) == 0 {
		return nil
	}
	text := fmt.Sprintf("[%s] %s → %s", t.Ended.Format(time.DateOnly), clean.Line(task, 120), clean.Line(o.outcome(), 160))
	return []memory.Line{{Event: t.Event, Path: contextFile, Section: workspace.PriorTasks, Text: text}}
}

// changed lists the files that the agent wrote, at most ten.
func changed(calls []Call) (files []string) {
	for _, c := range calls {
		if (c.Tool == "write_file" || c.Tool == "replace") && !c.Failed && c.Detail != "" && !slices.Contains(files, c.Detail) {
			files = append(files, strings.TrimPrefix(c.Detail, "/workspace/"))
		}
	}
	return files[:min(len(files), 10)]
}

// parseAnswer takes an answer as it is kept apart.
func parseAnswer(text string) (question, answer string, ok bool) {
	rest, ok := strings.CutPrefix(text, "Q: ")
	question, rest, ok2 := strings.Cut(rest, " | A: ")
	answer, _, _ = strings.Cut(rest, " | Context: ")
	return question, answer, ok && ok2
}

// wish takes the value of a preference, a fact or a decision out of the line that keeps it, or returns "".
func wish(line string) string {
	kind, rest, _ := strings.Cut(line, ": ")
	value, _, learned := strings.Cut(rest, " (learned from: ")
	if _, known := sections[kind]; !known || !learned {
		return ""
	}
	return value
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
