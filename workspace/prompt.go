package workspace

import (
	"fmt"
	"strings"
)

const (
	// MaxPrompt is the longest prompt, in bytes. The prompt is one argument of
	// a process, and Linux takes at most 131,071 bytes in one.
	MaxPrompt = 100_000
	// MaxHistory is how much of the conversation a prompt tells, in bytes.
	MaxHistory = 40_000
	// maxOpening is how much of a task that is too long the prompt shows.
	maxOpening = 2_000
)

// Turn is one thing that was said in the room before.
type Turn struct {
	Role    string // "user" or "assistant"
	Content string
}

// Input is what a prompt is made of.
type Input struct {
	Task        string // as the user wrote it
	Asker       string // localpart of the user's ID; "" = "user"
	History     []Turn // oldest first; only when the agent's own session cannot go on
	Interrupted bool   // the box went down while this task was worked on
	// Ended is what the room was told of the task before, where that is not
	// what the agent's session says: it was stopped, for example.
	Ended       string
	Instruction string // how to ask a person; "" = nothing about it
	// Answers are the agent's questions about this task and what persons
	// answered, oldest first.
	Answers []Answered
	// Resumed says that the session in which the newest question was asked
	// goes on: the prompt is the answer to it.
	Resumed bool
}

// Prompt is what the agent is told: to read what prior tasks left, then the
// task, then to leave something for the next. Source: seed 001, "Gemini
// invocation with context". What people wrote stands behind a name in brackets
// and has its @ escaped, because the CLI runs /commands and inlines @files
// from anywhere in a prompt. A task that makes the prompt longer than MaxPrompt
// is left in task.md, and the prompt says so.
func Prompt(in Input) string {
	prompt := compose(in, said(in.Asker, in.Task))
	if len(prompt) <= MaxPrompt {
		return prompt
	}
	return compose(in, fmt.Sprintf("The task is long. It is in %s: read that file to its end and do what it says. It begins:\n%s",
		TaskPath, said(in.Asker, cut(in.Task, maxOpening))))
}

func compose(in Input, task string) string {
	var b strings.Builder
	if history := conversation(in.History); history != "" {
		b.WriteString("The conversation in this room so far:\n\n" + history + "\n")
	}
	if in.Ended != "" {
		b.WriteString("The task before this one ended otherwise than this session knows. The room was told:\n" +
			said("bot", cut(in.Ended, maxOpening/4)) + "\nDo not go on with that task, unless the text below asks you to.\n\n")
	}
	if in.Interrupted {
		b.WriteString("The machine went down while you worked on the task below. Some of it may be done already: look at what is there, then go on, and do nothing twice.\n\n")
	}
	if in.Resumed && len(in.Answers) > 0 {
		task = resumed(in)
		b.WriteString(task)
	} else {
		b.WriteString("Read " + ContextPath + " and " + StatusPath + " for prior work context, then:\n")
		b.WriteString(task + "\n")
		if answers := PreviousAnswers(in.Answers); answers != "" {
			task += answers
			b.WriteString("\nYou have worked on this task before, and asked. Go on with these answers, and do nothing twice.\n" + answers)
		}
	}
	if strings.Contains(task, `\@`) {
		b.WriteString("\n(Where the text above says \\@, a plain @ is meant; " + TaskPath + " has the task as it was written.)\n")
	}
	if in.Instruction != "" {
		b.WriteString("\n" + in.Instruction)
	}
	b.WriteString("\nAfter completing, append a one-line summary to " + StatusPath + " and any\ndiscovered conventions to " + ContextPath + ".\n")
	return b.String()
}

// resumed is the answer to the question with which the session stopped.
func resumed(in Input) string {
	newest := in.Answers[len(in.Answers)-1:]
	return "The answer to your question is here. Go on with the task from where you stopped.\n" + PreviousAnswers(newest) +
		"\nThe task was:\n" + said(in.Asker, cut(in.Task, maxOpening)) + "\n"
}

// conversation is the newest turns that fit in MaxHistory, oldest first.
func conversation(turns []Turn) string {
	left, first := MaxHistory, len(turns)
	lines := make([]string, len(turns))
	for first > 0 {
		turn := turns[first-1]
		line := said(turn.Role, turn.Content) + "\n"
		if len(line) > left && first == len(turns) { // the newest is always told; escaping at most doubles it
			line = said(turn.Role, cut(turn.Content, MaxHistory/2-200)) + "\n"
		}
		if len(line) > left {
			break
		}
		first--
		left -= len(line)
		lines[first] = line
	}
	if first > 0 {
		return "(older turns left out)\n" + strings.Join(lines[first:], "")
	}
	return strings.Join(lines, "")
}

// said is a text behind the name of who said it, safe to stand in a prompt.
func said(name, text string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("[]@/\\\n\r\x00", r) {
			return -1
		}
		return r
	}, clean(name))
	if name == "" {
		name = "user"
	}
	return "[" + cut(name, 255) + "]: " + strings.ReplaceAll(clean(text), "@", `\@`)
}
