package recall

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

// ShellTool is the agent's tool that runs commands.
const ShellTool = "run_shell_command"

// mostTopics is how many topics an execution has.
const mostTopics = 5

// Topics returns the topics of a task: telling words of its text.
func Topics(text string) []string { return memory.Topics(text, mostTopics) }

// Task is a finished task, as it was observed.
type Task struct {
	Room    string
	ID      string // of the execution
	Event   string // the message that requested it
	By      string // who requested it
	Session string // of the agent
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

// Edit is what a message says now.
type Edit struct{ Event, By, Text string }

// With returns a task as its messages are now.
func (t Task) With(edits []Edit) Task {
	t.Said, t.Answers = slices.Clone(t.Said), slices.Clone(t.Answers)
	for _, one := range edits {
		for i := range t.Said {
			if t.Said[i].Event == one.Event {
				t.Said[i].Text = one.Text
			}
		}
		for i := range t.Answers {
			if t.Answers[i].Event == one.Event {
				t.Answers[i].Answer = one.Text
			}
		}
	}
	return t
}

// Answer is a question of the agent and a person's answer.
type Answer struct{ Question, Answer, By, Event string }

// IsSecret reports whether an answer is a secret, also because its question asks for one.
func (a Answer) IsSecret() bool { return AsksForSecret(a.Question) || LooksSecret(a.Answer) }

// Call is a call of a tool.
type Call struct {
	Tool, Detail, Output string
	Failed               bool
	Took                 time.Duration
}

const (
	maxField = 300     // bytes of a field of an entry
	maxSaid  = 8 << 10 // bytes of a message: filtering takes about a microsecond each
	// maxLogTask bounds a task in the daily log and in context.md, in bytes.
	maxLogTask = 160
	logFolder  = "memory/"
	mainFile   = "MEMORY.md"
)

// didSomething is the salience of a task for which the agent has successfully called tools: context.md names it.
const didSomething = 0.6

// learned is what a task taught: documents, the conversation first, and notes.
type learned struct {
	docs  []memory.Document
	notes []state.Note
}

// observe decides what is kept of a task: nothing secret, no approval, and no instruction that somebody planted.
func (f *Filter) observe(t Task) (l learned) {
	o := observer{Filter: f, task: t, secrets: secretsIn(t.Answers)}
	l.docs = []memory.Document{o.conversation(), o.executions()}
	l.notes = append(o.answers(), o.log()...)
	for i := range l.notes {
		n := &l.notes[i]
		n.Room, n.Time, n.Source = t.Room, t.Ended, state.Observed
	}
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
func (o observer) conversation() memory.Document {
	t, doc := o.task, memory.Document{Source: memory.SourceTranscript, Path: conversationPath(o.task.Room, o.task.Event)}
	add := func(at time.Time, speaker, text, event string) {
		n := len(doc.Entries) + 1
		doc.Entries = append(doc.Entries, memory.Entry{From: n, To: n, Time: at, Speaker: speaker,
			Text: o.keep(text, o.secrets...), Event: event})
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
	return doc
}

// executions is the task and what the agent did for it.
func (o observer) executions() memory.Document {
	t, doc := o.task, memory.Document{Source: memory.SourceExecution, Path: executionPath(o.task.ID)}
	add := func(command, outcome string, success bool, took time.Duration) {
		if command = o.short(command); command == "" {
			return
		}
		if outcome = o.short(outcome); outcome == "" {
			outcome = "no output"
		}
		n := len(doc.Entries) + 1
		doc.Entries = append(doc.Entries, memory.Entry{From: n, To: n, Time: t.Ended, Alone: true, Event: t.Event,
			Text: fmt.Sprintf("Command: %s | Outcome: %s | Success: %t | Duration: %.1fs", command, outcome, success,
				took.Seconds())})
	}
	add(o.asked(), o.outcome(), t.Success, t.Ended.Sub(t.Began))
	for _, c := range t.Calls {
		command := c.Detail
		if c.Tool != ShellTool {
			command = strings.TrimSpace(c.Tool + " " + c.Detail)
		}
		add(command, c.Output, !c.Failed, c.Took)
	}
	return doc
}

// answers are the questions with their answers, without those that only allowed something.
func (o observer) answers() (notes []state.Note) {
	for _, a := range o.task.Answers {
		if Approval(a.Question, a.Answer) || a.IsSecret() {
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
		notes = append(notes, state.Note{Kind: state.Answered, Text: text, Quote: answer, Event: a.Event, By: a.By,
			Salience: 0.9, File: mainFile})
	}
	return notes
}

// parseAnswer takes an answer as it is kept apart.
func parseAnswer(text string) (question, answer, about string, ok bool) {
	rest, ok := strings.CutPrefix(text, "Q: ")
	question, rest, ok2 := strings.Cut(rest, " | A: ")
	answer, about, _ = strings.Cut(rest, " | Context: ")
	return question, answer, about, ok && ok2
}

// log is the entry of the daily log.
func (o observer) log() []state.Note {
	t := o.task
	task := o.asked()
	if task == "" {
		return nil
	}
	entry := fmt.Sprintf("%s %s: %s → %s (%s", t.Ended.Format("15:04:05"), whom(t.By),
		clean.Line(task, maxLogTask), clean.Line(o.outcome(), 200), t.Ended.Sub(t.Began).Round(100*time.Millisecond))
	if n := len(t.Calls); n > 0 {
		entry += ", " + text.Plural(n, "step", "steps")
	}
	if files := changed(t.Calls); len(files) > 0 {
		entry += "; changed " + o.short(strings.Join(files, ", "))
	}
	note := state.Note{Kind: state.Episodic, Text: entry + ")", Event: t.Event, By: t.By, Salience: 0.3,
		File: logFolder + t.Ended.Format(time.DateOnly) + ".md"}
	if t.Success && len(t.Calls) > 0 {
		note.Salience = didSomething
	}
	return []state.Note{note}
}

// changed lists the files that the agent wrote, at most ten.
func changed(calls []Call) (files []string) {
	for _, c := range calls {
		file := strings.TrimPrefix(c.Detail, "/workspace/")
		if (c.Tool == "write_file" || c.Tool == "replace") && !c.Failed && file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files[:min(len(files), 10)]
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
