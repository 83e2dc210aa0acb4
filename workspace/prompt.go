package workspace

import (
	"fmt"
	"strings"

	"matrix-tui/state/clean"
)

const (
	// MaxPrompt is the longest prompt, in bytes. The prompt is one argument of a process, and Linux allows at most
	// 131,071 bytes.
	MaxPrompt = 100_000
	// maxOpening is how much of a task that is too long the prompt shows, in bytes.
	maxOpening = 2_000
	// maxInstruction bounds Input.Instruction, in bytes.
	maxInstruction = 4_000
)

// Input is what a prompt is made from.
type Input struct {
	Task        string // as the user wrote it
	Asker       string // localpart of the user's ID; "" = "user"
	Persona     []Text // the agent's persona; read again for each task
	History     []Turn // oldest first; only if the agent's own session cannot be resumed
	Memory      Memory // what earlier tasks have left that fits this one
	Quote       *Quote // the message that the task replies to; nil = none
	Files       []File // the task's files; with Resumed, only those that the session does not know
	Interrupted bool   // the container stopped while this task was running
	Scheduled   string // which run of the room's schedule the task is; "" if somebody has just asked for it
	Paused      bool   // the model was unavailable for a while after this task was begun
	Overflow    bool   // the session in which this task was begun became too long for the model
	Refused     bool   // the model's API refused the history of the session in which this task was begun
	// Lost are packages that the agent had installed, and that are missing since its container was replaced.
	Lost []string
	// Running are processes that earlier tasks have left running, a line each.
	Running []string
	// Ended is the room's message about the previous task, if the agent's session does not know it: that it was
	// stopped, for example.
	Ended       string
	Instruction string // how to ask a person; "" = no such instruction
	// Answers are the agent's questions about this task and people's answers, oldest first.
	Answers []Answered
	// Steer is what people said while the task ran, oldest first: the run was stopped for it. With Resumed, only what
	// the session does not know.
	Steer []Message
	// Resumed says that the session that worked on this task continues: the prompt is the answer to the question with
	// which it stopped, or the messages for which it was stopped. Without either it is ignored.
	Resumed bool
}

// room is the number of bytes in a prompt for the parts that may be long.
type room struct{ history, answers int }

// Prompt is the agent's prompt: read what earlier tasks left, do the task, leave
// something for the next one. Text
// from people is marked with a name in brackets or as a quotation, and its @ is
// escaped, because the CLI runs /commands and inlines @files anywhere in a prompt. If
// the task makes the prompt longer than MaxPrompt, it is only in task.md and the prompt
// says so; after that, the conversation is shortened, then the answers.
func Prompt(in Input) string {
	room := room{MaxHistory, MaxAnswers}
	prompt := compose(in, said(in.Asker, in.Task), room)
	if len(prompt) <= MaxPrompt {
		return prompt
	}
	task := fmt.Sprintf("The task is long. It is in %s: read that file to its end and do what it says. It begins:\n%s",
		TaskPath, opening(in))
	prompt = compose(in, task, room)
	const slack = 50 // for the notes that something is left out
	if over := len(prompt) + slack - MaxPrompt; over > slack {
		room.history = max(minHistory, len(conversation(in.History, room.history))-over)
		prompt = compose(in, task, room)
	}
	if over := len(prompt) + slack - MaxPrompt; over > slack {
		room.answers = max(minAnswers, len(previousAnswers(in.Answers, room.answers))-over)
		prompt = compose(in, task, room)
	}
	return prompt
}

// compose joins the parts, the unchanging ones first.
func compose(in Input, task string, room room) string {
	who, history := persona(in.Persona), conversation(in.History, room.history)
	var b strings.Builder
	b.WriteString(who)
	if history != "" {
		b.WriteString("The conversation in this room so far:\n\n" + history + "\n")
		if who == "" {
			b.WriteString(styleGuard)
		}
	}
	if in.Ended != "" {
		b.WriteString("The previous task ended differently from what this session knows. The room was told:\n" +
			said("bot", clean.Cut(in.Ended, maxOpening/4)) +
			"\nDo not continue that task unless the text below asks you to.\n\n")
	}
	if in.Overflow {
		b.WriteString("You began the task below in a session that became too long. Part of it may already be done: check " +
			"what is there, then continue, do nothing twice, and read less at once.\n\n")
	}
	if in.Refused {
		b.WriteString("You began the task below in a session that cannot be continued. Part of it may already be done: " +
			"check what is there, then continue, and do nothing twice.\n\n")
	}
	if in.Interrupted {
		b.WriteString("The machine went down while you worked on the task below. Part of it may already be done: check " +
			"what is there, then continue, and do nothing twice.\n\n")
	}
	if in.Scheduled != "" {
		b.WriteString("The text below was scheduled earlier and is due now (" + in.Scheduled + "). If there is nothing " +
			"that people here need to know, answer with NO_REPLY alone.\n\n")
	}
	if in.Paused {
		b.WriteString("While you worked on the task below, the model was unavailable for a while. Part of it may already " +
			"be done: check what is there, then continue, and do nothing twice.\n\n")
	}
	if len(in.Lost) > 0 {
		b.WriteString("Your container has been replaced by a new one. These packages, which were installed in the old one, " +
			"could not be reinstalled: " +
			clean.Cut(strings.Join(in.Lost, " "), maxOpening) + "\n\n")
	}
	if len(in.Running) > 0 {
		b.WriteString("Earlier tasks left these processes running in your container. They go on after your task, too, " +
			"unless you end them.\n")
		for _, one := range in.Running {
			b.WriteString("- " + label(one, maxNote) + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString(known(in.Memory))
	var work string
	if in.Resumed && len(in.Answers)+len(in.Steer) > 0 {
		work = resumed(in, room)
	} else {
		work = begun(in, task, room)
	}
	b.WriteString(work)
	if strings.Contains(who+work, `\@`) {
		b.WriteString("\n(Where the text above says \\@, a plain @ is meant; " + TaskPath +
			" has the task as it was written.)\n")
	}
	if in.Instruction != "" {
		b.WriteString("\n" + clean.Cut(unixText(in.Instruction), maxInstruction))
	}
	b.WriteString("\nPut files meant for the person into " + OutboxPath +
		"/ (create the folder if it does not exist): they are sent after your answer.\n")
	b.WriteString("\nAfter completing, append a one-line summary to " + StatusPath +
		" and any\ndiscovered conventions to " + ContextPath + ".\n")
	return b.String()
}

// begun is the task for a session that does not know it.
func begun(in Input, task string, room room) string {
	out := quotation(in.Quote) + "Read " + ContextPath + " and " + StatusPath + " for prior work context, then:\n" + task +
		"\n" + inbox(in.Files)
	if answers := previousAnswers(in.Answers, room.answers); answers != "" {
		out += "\nYou have already worked on this task and asked questions. Continue with these answers, and do nothing " +
			"twice.\n" + answers
	}
	if len(in.Steer) > 0 {
		out += "\nYou have already worked on this task and were stopped because of these messages. Continue accordingly, " +
			"and do nothing twice.\n" + steering(in.Steer)
	}
	return out
}

// resumed is the answer to the question that ended the session's last run, or the messages for which it was stopped.
func resumed(in Input, room room) string {
	answer := ""
	if last := len(in.Answers) - 1; last >= 0 {
		answer = previousAnswers(in.Answers[last:], room.answers)
	}
	task := "\nThe task was:\n" + opening(in) + "\n" + inbox(in.Files)
	if len(in.Steer) == 0 {
		return "Here is the answer to your question. Continue the task from where you stopped.\n" + answer + task
	}
	if answer != "" {
		answer = "\nBefore that, you asked questions.\n" + answer
	}
	return "Your work on the task was stopped because of these messages. Continue the task accordingly, and do nothing " +
		"twice.\n" +
		steering(in.Steer) + answer + task
}

// opening returns the beginning of the task.
func opening(in Input) string { return said(in.Asker, clean.Cut(in.Task, maxOpening)) }
