package task

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/bot/container"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// A question that is closed shows who chose what in the place of its options, and takes its reactions back.
func TestClosedQuestion(t *testing.T) {
	env := newEnv(&Deps{Shared: container.Shared{Policy: policy.Open(t.TempDir(), zerolog.Nop())}, Config: Config{NotifyQuestion: true}}, "!den:here")
	const which = "Which database?\n\n1. **production**\n2. staging"
	for _, c := range []struct {
		question, held string
		given          execution.Answer
		want           string
	}{
		{which, "", execution.Answer{Answer: "1. **production**", By: "@ann:x"}, "❓ Which database?\n\n✔ ann: **production**\n\nTwo run here.\n\nI looked."},
		{which, "", execution.Answer{Answer: "Production!", By: "@ann:x", Event: "$1"}, "❓ Which database?\n\n✔ ann: **production**\n\nTwo run here.\n\nI looked."},
		{which, "", execution.Answer{Answer: "2"}, "❓ Which database?\n\n✔ over HTTP: staging\n\nTwo run here.\n\nI looked."},
		{which, "", execution.Answer{Answer: "neither, *wait*", By: "@ann:x", Event: "$1"}, "❓ Which database?\n\n✔ ann: `neither, *wait*`\n\nTwo run here.\n\nI looked."},
		{"1. x\n2. y", "", execution.Answer{Answer: "2", By: "@ann:x"}, "1. x\n2. y\n\n✔ ann: y\n\nTwo run here.\n\nI looked."},
		{"May I run rm?", "rm", execution.Answer{Answer: YesKey, By: "@ann:x"}, "❓ May I run rm?\n\n✔ ann: yes, once\n\nI looked."},
		{"May I run rm?", "rm", execution.Answer{Answer: "No", By: "@ann:x"}, "❓ May I run rm?\n\n✘ ann: no\n\nI looked."},
		{"May I run rm?", "rm", execution.Answer{Answer: "yes, but later", By: "@ann:x"}, "❓ May I run rm?\n\n✘ ann: `yes, but later`\n\nI looked."},
	} {
		asked := env.Task(state.Task{Key: "0123456789abcdef0123", Room: "!den:here", Home: "!den:here", Event: "$0", State: state.TaskWaiting,
			Question: c.question, QuestionContext: "Two run here.", HeldCommand: c.held, Details: state.Details{Around: "I looked."}}).Question()
		said := asked.closed(asked.choice(c.given), c.given.Event)
		if edit := said[0]; edit.Body != c.want || edit.Relation != state.Edit || edit.About != asked.Txn() || edit.Notice || edit.Mention != "" {
			t.Errorf("%q: %+v, want %q", c.given.Answer, edit, c.want)
		}
		if want := c.given.Event == ""; strings.HasPrefix(said[0].Txn, asked.Txn()) != want {
			t.Errorf("%q: the edit is %s", c.given.Answer, said[0].Txn)
		}
		if len(said) != 3 || said[2].Relation != state.Redaction || said[2].About != asked.Txn()+"-r1" {
			t.Errorf("%q: the reactions stay: %+v", c.given.Answer, said)
		}
	}
}

// The reminder says in one line what is asked.
func TestQuestionLine(t *testing.T) {
	for want, rec := range map[string]state.Task{
		"Which? (1. production, 2. staging)":                            {Question: "Which?\n\n1. production\n2. staging"},
		"What shall it be called?":                                      {Question: "What shall\nit be called?"},
		"May I run this command in `/workspace`?\n\n```\ngit push\n```": {Question: "May I run this command?", HeldCommand: "git push", HeldDir: "/workspace"},
	} {
		rec.State = state.TaskWaiting
		if got := (&Env{}).Task(rec).Question().again(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
