package workspace

import (
	"strings"

	"matrix-tui/state/clean"
)

const (
	// MaxAnswers bounds the earlier answers in a prompt, in bytes: together with MaxHistory they fit into MaxPrompt.
	MaxAnswers = 50_000
	// minAnswers is what is left of that if other parts fill the prompt.
	minAnswers = 14_000
	// maxQuestion bounds a question shown with its answer, in bytes.
	maxQuestion = 4_000
)

// Answered is one of the agent's questions with a person's answer.
type Answered struct {
	Question, Answer string
	By               string // localpart of the user's ID; "" = "user"
}

// previousAnswers returns people's answers to the agent's questions about a task, oldest first, for the prompt; "" if
// there are none. It always contains the newest, and as many others as fit into limit bytes.
func previousAnswers(answers []Answered, limit int) string {
	if len(answers) == 0 {
		return ""
	}
	var parts []string
	left, first := limit, len(answers)
	for first > 0 {
		part := answered(answers[first-1], limit)
		if len(part) > left && first == len(answers) { // escaping at most doubles it
			part = answered(answers[first-1], limit/2-maxQuestion-200)
		}
		if len(part) > left {
			break
		}
		first--
		left -= len(part)
		parts = append([]string{part}, parts...)
	}
	head := "Previous answers from user:\n"
	if first > 0 {
		head += "(older answers left out)\n"
	}
	return head + strings.Join(parts, "")
}

// answered is a question and its answer of at most limit bytes, safe to include in a prompt.
func answered(a Answered, limit int) string {
	question := strings.ReplaceAll(clean.Cut(unixText(a.Question), maxQuestion), "@", `\@`)
	return "Q: " + question + "\nA: " + said(a.By, clean.Cut(unixText(a.Answer), limit)) + "\n"
}
