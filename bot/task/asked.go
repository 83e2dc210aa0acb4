package task

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// messages returns the messages of the question. People reply and react to the first one.
func (q Question) messages(ctx context.Context) []Message {
	t, txn, n, env := q.t, q.Txn(), len(q.t.exec.Answers), q.t.env
	proof := env.Room.Proof(ctx)
	how := q.how(proof) + " within " + text.Duration(env.rules().QuestionTimeout)
	how = "_" + how + ". `!stop` cancels the task._"
	if page := t.page(); page != "" {
		how += " [Answer on the page](" + page + ")"
	}
	m := t.Voice().long("question", q.text(t.exec.CurrentQuestion, t.exec.QuestionContext, "", how), env.NotifyQuestion)
	m.Kind, m.Number, m.Txn = state.KindQuestion, n, txn
	m.Long.Kind, m.Long.Txn = state.KindQuestionPart, txn+"-"
	said := []Message{m}
	for i, o := range q.Options() {
		if yes, _ := q.Affirms(o.Answer); proof.Words || proof.Code && yes {
			continue
		}
		said = append(said, Message{Message: state.Message{Kind: state.KindOption, Task: m.Task, Number: n,
			Txn:      optionTxn(txn, i),
			Relation: state.Reaction, About: txn, Body: o.Key}})
	}
	return said
}

func optionTxn(question string, i int) string { return fmt.Sprintf("%s-r%d", question, i) }

// maxAround bounds the agent's text before and after a question, each, in bytes.
const maxAround = 8 << 10

// text returns the text of the question for the room. It starts with the question, because notifications and lists of
// rooms show only the beginning.
func (q Question) text(question, context, answer, how string) string {
	if first, _ := utf8.DecodeRuneInString(question); unicode.IsLetter(first) { // not a list, a table or code
		question = "❓ " + question
	}
	if q.IsHeld() {
		context = "" // it is for programs: in the room, the message replies to the task
	}
	return joined(question, answer, context, q.t.rec.Around, how)
}

// joined makes paragraphs of texts that are not empty.
func joined(texts ...string) string {
	var parts []string
	for _, one := range texts {
		if one = strings.TrimSpace(one); one != "" {
			parts = append(parts, one)
		}
	}
	return strings.Join(parts, "\n\n")
}

// answering returns how to answer a question that needs no proof, without a full stop. With words, reactions do not
// answer.
func answering(options []agent.Option, approval, words bool) string {
	switch {
	case approval:
		return "Tap ✅ to run it once, or ❌ to refuse,"
	case len(options) > 0 && !words: // as labels: some clients cannot show keycaps in text, others do not number lists
		return "Tap " + labelsOf(options) + " or reply"
	}
	return "Reply"
}

// labelsOf returns "1–3" for three options.
func labelsOf(options []agent.Option) string {
	first, _, _ := strings.Cut(options[0].Answer, ".")
	last, _, _ := strings.Cut(options[len(options)-1].Answer, ".")
	return first + "–" + last
}

// again returns the question for its reminder: with its options in one line, or with all of a command, because a
// reply to the reminder answers, too.
func (q Question) again() string {
	if q.IsHeld() {
		return approvalQuestion(agent.Held{Command: q.t.rec.HeldCommand, Dir: q.t.rec.HeldDir})
	}
	line := text.OneLine(agent.WithoutOptions(q.t.exec.CurrentQuestion), 300)
	var options []string
	for _, o := range q.Options() {
		options = append(options, text.OneLine(o.Answer, 60))
	}
	if len(options) > 0 {
		line += " (" + strings.Join(options, ", ") + ")"
	}
	return line
}

// maxClosed is the longest text of a question that is replaced when the question is closed, in bytes: an edit
// contains it several times.
const maxClosed = 8 << 10

// closed returns the messages that close the open question: an edit that shows the line in the place of the options,
// and the redactions of their reactions. event is the message that the line quotes, or "".
func (q Question) closed(line, event string) []Message {
	t, txn, n := q.t, q.Txn(), len(q.t.exec.Answers)
	question := t.exec.CurrentQuestion
	if short := agent.WithoutOptions(question); short != "" && !q.IsHeld() {
		question = short
	}
	edit := Message{Message: state.Message{Kind: state.KindQuestionEdit, Task: t.rec.Key, Number: n, Txn: txn + "-e",
		Notice:   !t.env.NotifyQuestion,
		Relation: state.Edit, About: txn, Body: t.Voice().reminder() + q.text(question, t.exec.QuestionContext, line, "")}}
	if event != "" {
		edit.Txn = ChoiceTxn(t.rec.Room, event)
	}
	var said []Message
	if len(edit.Body) <= maxClosed {
		said = append(said, edit)
	}
	for i := range q.Options() {
		said = append(said, redaction(t.rec.Key, optionTxn(txn, i)))
	}
	return said
}

// ChoiceTxn returns the transaction ID of the edit that shows what a message answered.
func ChoiceTxn(room, event string) string { return state.KeyOf(room, event) + "-choice" }

// choice returns the line with who answered what.
func (q Question) choice(a execution.Answer) string {
	who := "over HTTP"
	if a.By != "" {
		who = q.t.env.NameOf(a.By)
	}
	if name, ok := named(q.Options(), a.Answer); ok && !q.IsHeld() {
		return "✔ " + who + ": " + name
	}
	switch {
	case !q.IsHeld():
		return "✔ " + who + ": " + text.Code(a.Answer)
	case IsYes(a.Answer):
		return "✔ " + who + ": yes, once"
	case a.Answer == NoKey || strings.EqualFold(a.Answer, "no"):
		return "✘ " + who + ": no"
	}
	return "✘ " + who + ": " + text.Code(a.Answer)
}

// named returns the text of the option that an answer names, without its label.
func named(options []agent.Option, answer string) (name string, ok bool) {
	answer = strings.TrimRight(strings.TrimSpace(answer), ".)!")
	for _, o := range options {
		label, name, _ := strings.Cut(o.Answer, ". ")
		for _, form := range []string{label, name, strings.Trim(name, "*_` "), o.Answer} {
			if strings.EqualFold(answer, strings.TrimRight(form, ".)!")) {
				return name, true
			}
		}
	}
	return "", false
}
