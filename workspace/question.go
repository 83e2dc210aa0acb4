package workspace

import (
	"strings"

	"matrix-tui/state/clean"
)

const (
	// MaxAnswers is how much of the answers given so far a prompt tells, in
	// bytes: with MaxHistory there is room for it in MaxPrompt.
	MaxAnswers = 50_000
	// minAnswers is what is left of that in a prompt that is full of other
	// things.
	minAnswers = 14_000
	// maxQuestion is how much of a question is told with its answer.
	maxQuestion = 4_000
)

// Answered is one of the agent's questions with a person's answer.
type Answered struct {
	Question, Answer string
	By               string // localpart of the user's ID; "" = "user"
}

// PreviousAnswers are people's answers to the agent's questions about a task, oldest
// first, for the prompt; "" if there are none. It always contains the newest, and as
// many others as fit into MaxAnswers. Source: seed 000, "Previous answers from user".
func PreviousAnswers(answers []Answered) string { return previousAnswers(answers, MaxAnswers) }

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

// answered is a question and its answer of at most limit bytes, safe to stand
// in a prompt.
func answered(a Answered, limit int) string {
	question := strings.ReplaceAll(clean.Cut(unixText(a.Question), maxQuestion), "@", `\@`)
	return "Q: " + question + "\nA: " + said(a.By, clean.Cut(unixText(a.Answer), limit)) + "\n"
}
