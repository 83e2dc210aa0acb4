package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"matrix-tui/agent"
)

// allowance is the limit of tokens per day, as a task meets it.
type allowance struct{ t *Task }

// settle does what the answer to that question says, before the task runs again. A no is an outcome. The tokens are
// allowed in one transaction with the note that they are, so a crash does not allow them twice.
func (b allowance) settle(ctx context.Context) (out agent.Outcome, err error) {
	t := b.t
	if t.rec.Budget == 0 || t.rec.Budget != len(t.exec.Answers) {
		return out, nil
	}
	grants, err := t.env.Budget.Grants(ctx, t.env.ID, t.Given().By)
	if err != nil {
		return out, fmt.Errorf("read the room's tokens: %w", err)
	}
	err = t.decide(ctx, func() error {
		if !allowsMore(t.Given().Answer) {
			out = agent.Outcome{Ended: agent.Stopped,
				Detail: "Stopped: this room's tokens for today are used up. The work so far is in /workspace."}
			return nil
		}
		t.rec.Budget = 0
		if !grants {
			return t.env.Note(ctx, t.Row()) // and so the run is refused, and the question asked again
		}
		t.rec.Allowed += t.env.Budget.Limit(t.env.ID)
		return t.env.Note(ctx, t.Row())
	})
	if errors.Is(err, errStopped) {
		return stoppedEarly(), nil
	}
	return out, err
}

// allowsMore reports whether an answer to that question lets the task go on: a yes in any of the words that the
// question and other messages of the bot suggest.
func allowsMore(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	if IsYes(answer) || strings.HasPrefix(answer, "1") || strings.HasPrefix(answer, "yes") {
		return true
	}
	words := strings.FieldsFunc(answer, func(c rune) bool { return !unicode.IsLetter(c) })
	words = slices.DeleteFunc(words, func(word string) bool { return word == "please" || word == "just" })
	return slices.Contains([]string{"continue", "go on", "go ahead", "keep going", "carry on", "sure"},
		strings.Join(words, " "))
}
