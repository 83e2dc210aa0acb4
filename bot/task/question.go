package task

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// ask has the task wait for an answer; where that cannot be, the outcome is
// why, and otherwise empty.
func (w *Work) ask(ctx context.Context, out agent.Outcome) (agent.Outcome, error) {
	if out.Held != nil && len(out.Held.Command) > maxShown {
		out.Ended, out.Text = agent.Crashed, ""
		out.Detail = fmt.Sprintf("The agent wanted to run a command that needs approval but is too long to show (%s). Split the task into smaller steps.", text.Size(int64(len(out.Held.Command))))
		return out, nil
	}
	err := w.pose(ctx, out)
	switch {
	case errors.Is(err, agent.ErrLimit):
		out.Ended, out.Detail, out.Text = agent.Crashed, sentence.Text(err), ""
		return out, nil
	case errors.Is(err, errStopped): // in the last moment
		out.Ended, out.Detail, out.Text = agent.Stopped, "Stopped before I asked.", ""
		return out, nil
	}
	return agent.Outcome{}, err
}

// pose stores the question of a run and its messages, in one transaction with the
// task's new state: from here on the task waits, and holds nothing but its
// record. It is agent.ErrLimit when the task has asked too often, and
// errStopped or errSteered when somebody has told it to stop, or something new.
func (w *Work) pose(ctx context.Context, out agent.Outcome) error {
	question, about := out.Signal.Question, out.Signal.Context
	w.rec.HeldCommand, w.rec.HeldDir = "", ""
	if out.Held != nil {
		w.rec.HeldCommand, w.rec.HeldDir = out.Held.Command, out.Held.Dir
	}
	if out.Ended == agent.NeedsApproval {
		question = approvalQuestion(*out.Held)
		about = Localpart(w.Asker()) + "'s task needs it"
		if w.Asker() == "" {
			about = "the task needs it"
		}
	}
	now := time.Now()
	n := len(w.exec.Answers)
	begun := w.rec.Begun
	if err := w.exec.Ask(question, about, now.Add(w.patience()), now); err != nil {
		return err
	}
	if w.rec.Resumable = out.Session != ""; w.rec.Resumable {
		w.rec.Session = out.Session
	}
	w.rec.Used = state.Usage(used(w.rec.Used).with(begun, out))
	w.rec.Approved = nil
	said := w.asking(ctx, out.Signal.Before, out.Signal.After)
	said = append(said, w.closing(n, fmt.Sprintf("❓ I asked a question after %s", text.Duration(time.Since(begun)))))
	if err := w.wait(ctx, w.env.Room.Render(ctx, said...)); err != nil {
		return err
	}
	crash.At("asked")
	w.waitUntil(w.due())
	w.env.Room.Wake()
	w.env.Count.Asked()
	w.env.Log.Info().Str("room", w.env.ID).Str("event", w.rec.Event).Str("execution", w.exec.ID).Msg("question asked")
	return w.pause(ctx)
}

// wait stores the question, unless somebody has told the task to stop.
func (w *Work) wait(ctx context.Context, rows []state.Message) error {
	w.env.Books.Lock()
	defer w.env.Books.Unlock()
	if err := w.reread(ctx); err != nil {
		return err
	}
	if len(w.rec.Said) > w.rec.Given {
		return errSteered
	}
	if err := w.env.Journal.Wait(ctx, w.Row(), rows); err != nil {
		return fmt.Errorf("store question: %w", err)
	}
	return nil
}

// pause writes down what a task leaves behind while it waits. Where it is cut
// short, [Env.TakeUp] makes up for it.
func (w *Work) pause(ctx context.Context) error {
	w.noteOnce(state.Line{Kind: state.KindAssistant, Room: w.env.ID, Event: w.question(len(w.exec.Answers)), Text: w.exec.CurrentQuestion})
	w.ProjectSoon(ctx)
	if err := w.keepSession(ctx); err != nil && ctx.Err() == nil {
		w.env.Log.Warn().Err(err).Str("room", w.env.ID).Msg("session is saved later")
	}
	if err := w.removeRun(ctx); err != nil && ctx.Err() == nil {
		w.env.Log.Warn().Err(err).Str("room", w.env.ID).Msg("tidy up after a question")
	}
	return nil
}

// asking are the messages of the present question: the first is what answers
// reply to, and carries the options.
func (t *Task) asking(ctx context.Context, before, after string) []Message {
	n := len(t.exec.Answers)
	byReply := t.IsHeld() && !t.env.Room.ReactionsProve(ctx)
	text := questionText(t.exec, answering(t.Options(), t.IsHeld(), byReply), t.patience(), before, after)
	m := t.long("question", text, t.env.NotifyQuestion)
	m.Kind, m.Number, m.Txn = state.KindQuestion, n, t.question(n)
	m.Long.Kind, m.Long.Txn = state.KindQuestionPart, t.question(n)+"-"
	said := []Message{m}
	for i, o := range t.Options() {
		if byReply && o.Key == YesKey {
			continue
		}
		said = append(said, t.reaction(state.KindOption, n, fmt.Sprintf("%s-r%d", t.question(n), i), state.AboutRef(t.question(n)), o.Key))
	}
	return said
}

// maxAround bounds what is told of the agent's words before and after a question,
// in bytes.
const maxAround = 8 << 10

// questionText is the question as people read it. Source: seed 000, "Question
// Notification".
func questionText(e *agent.Execution, how string, limit time.Duration, before, after string) string {
	var parts []string
	add := func(head, text string) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, head+text)
		}
	}
	add("", text.Cut(before, maxAround))
	add("I need your input:\n\n", e.CurrentQuestion)
	add("Context: ", e.QuestionContext)
	add("After that I went on:\n\n", text.Cut(after, maxAround))
	add("", "_"+how+"; `!stop` gives up. I wait "+text.Duration(limit)+"._")
	return strings.Join(parts, "\n\n")
}

// answering says how a question is answered. byReply is an approval that a
// reaction cannot give.
func answering(options []agent.Option, approval, byReply bool) string {
	switch {
	case byReply:
		return "Reply `yes` to run it once; `no` or ❌ refuses"
	case approval:
		return "✅ runs it once, ❌ refuses"
	case len(options) > 0: // by their labels: keycaps in text are unreadable in some clients, and others number no lists
		return "Tap " + labelsOf(options) + ", or reply in your own words"
	}
	return "Reply to answer"
}

// labelsOf is "1–3" for three options.
func labelsOf(options []agent.Option) string {
	first, _, _ := strings.Cut(options[0].Answer, ".")
	last, _, _ := strings.Cut(options[len(options)-1].Answer, ".")
	return first + "–" + last
}

// Options are what can be chosen by reaction for the present question.
func (t *Task) Options() []agent.Option {
	if t.IsHeld() {
		return []agent.Option{{Key: YesKey, Answer: YesKey}, {Key: NoKey, Answer: NoKey}}
	}
	return agent.Options(t.exec.CurrentQuestion)
}

// link is a matrix.to link to a message of ours; "" while it is not in the room.
func (t *Task) link(ctx context.Context, txn string) string {
	sent, err := t.env.Journal.Message(ctx, txn)
	if err != nil || sent.Event == "" {
		return ""
	}
	return t.env.Room.Link(sent.Room, sent.Event, t.Asker())
}

// QuestionTxn is the transaction ID of the present question, or of the next one.
func (t *Task) QuestionTxn() string { return t.question(len(t.exec.Answers)) }

// Line is the first line of the present question, with a link to it.
func (t *Task) Line(ctx context.Context) string {
	first, _, _ := strings.Cut(t.exec.CurrentQuestion, "\n")
	return text.Code(first) + " " + t.link(ctx, t.QuestionTxn())
}

// question is the transaction ID of the task's question after n answers. What
// does not fit into one message goes on as …-qN-1 and so on; the options are
// …-qN-rI, the reminder is …-qN-w.
func (t *Task) question(n int) string { return t.rec.Key + "-q" + strconv.Itoa(n) }
