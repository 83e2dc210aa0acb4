package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// ask puts the question of a run into the outbox, in one transaction with the
// row's new state: from here on the task waits, and holds nothing but its
// record. It is agent.ErrLimit when the task has asked too often, and
// errStopped or errSteered when somebody has told it to stop, or something new.
func (t *task) ask(ctx context.Context, out agent.Outcome) error {
	question, about := out.Signal.Question, out.Signal.Context
	t.rec.HeldCommand, t.rec.HeldDir = "", ""
	if out.Held != nil {
		t.rec.HeldCommand, t.rec.HeldDir = out.Held.Command, out.Held.Dir
	}
	if out.Ended == agent.NeedsApproval {
		question = approvalQuestion(*out.Held)
		about = localpart(t.asker()) + "'s task needs it"
		if t.asker() == "" {
			about = "the task needs it"
		}
	}
	now := time.Now()
	n := len(t.exec.Answers)
	begun := t.rec.Begun
	if err := t.exec.Ask(question, about, now.Add(t.patience()), now); err != nil {
		return err
	}
	if t.rec.Resumable = out.Session != ""; t.rec.Resumable {
		t.rec.Session = out.Session
	}
	t.rec.Used = state.Usage(used(t.rec.Used).with(begun, out))
	t.rec.Approved = nil
	rows := t.questionRows(ctx, out.Signal.Before, out.Signal.After)
	closing := fmt.Sprintf("❓ I asked a question after %s", text.Duration(time.Since(begun)))
	rows = append(rows, t.closing(n, closing))
	if err := t.wait(ctx, rows); err != nil {
		return err
	}
	crash("asked")
	t.waitUntil(t.due())
	t.outbox.wake()
	t.bot.count.asked()
	t.bot.log.Info().Str("room", t.id).Str("event", t.rec.Event).Str("execution", t.exec.ID).Msg("question asked")
	return t.pause(ctx)
}

// wait stores the question, unless somebody has told the task to stop.
func (t *task) wait(ctx context.Context, rows []state.Message) error {
	t.books.Lock()
	defer t.books.Unlock()
	if err := t.reread(ctx); err != nil {
		return err
	}
	if len(t.rec.Said) > t.rec.Given {
		return errSteered
	}
	if err := t.bot.Journal.Wait(ctx, t.row(), rows); err != nil {
		return fmt.Errorf("store question: %w", err)
	}
	return nil
}

// pause writes down what a task leaves behind while it waits. Where it is cut
// short, [Bot.takeUpWaiting] makes up for it.
func (t *task) pause(ctx context.Context) error {
	t.noteOnce(state.Line{Kind: state.KindAssistant, Room: t.id, Event: t.question(len(t.exec.Answers)), Text: t.exec.CurrentQuestion})
	t.projectSoon(ctx)
	if err := t.keepSession(ctx); err != nil && ctx.Err() == nil {
		t.bot.log.Warn().Err(err).Str("room", t.id).Msg("session is saved later")
	}
	if err := t.removeRun(ctx); err != nil && ctx.Err() == nil {
		t.bot.log.Warn().Err(err).Str("room", t.id).Msg("tidy up after a question")
	}
	return nil
}

// questionRows are the messages of the present question: the first is what
// answers reply to, and carries the options.
func (t *task) questionRows(ctx context.Context, before, after string) []state.Message {
	e := t.exec
	n := len(e.Answers)
	byReply := t.isHeld() && t.inEncryptedRoom(ctx)
	text := questionText(e, answering(t.options(), t.isHeld(), byReply), t.patience(), before, after)
	messages := t.messages(ctx, text, "question", t.bot.NotifyQuestion)
	var rows []state.Message
	for i, m := range messages {
		txn, kind := t.question(n), state.KindQuestion
		if i > 0 {
			txn, kind = fmt.Sprintf("%s-%d", txn, i), state.KindQuestionPart
		}
		rows = append(rows, t.out(kind, n, txn, m))
	}
	for i, o := range t.options() {
		if byReply && o.Key == yesKey {
			continue
		}
		rows = append(rows, t.reaction(state.KindOption, n, fmt.Sprintf("%s-r%d", t.question(n), i), state.AboutRef(t.question(n)), o.Key))
	}
	return rows
}

// questionText is the question as people read it. Source: seed 000, "Question
// Notification".
func questionText(e *agent.Execution, how string, limit time.Duration, before, after string) string {
	var parts []string
	add := func(head, text string) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, head+text)
		}
	}
	add("", text.Cut(before, partSize/2))
	add("I need your input:\n\n", e.CurrentQuestion)
	add("Context: ", e.QuestionContext)
	add("After that I went on:\n\n", text.Cut(after, partSize/2))
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

// inEncryptedRoom tells whether reactions in the task's room prove nothing: they
// are never encrypted. Where it is not known, they prove nothing either.
func (t *task) inEncryptedRoom(ctx context.Context) bool {
	encrypted, err := t.bot.account.IsEncrypted(ctx, t.id)
	return err != nil || encrypted
}

// labelsOf is "1–3" for three options.
func labelsOf(options []agent.Option) string {
	first, _, _ := strings.Cut(options[0].Answer, ".")
	last, _, _ := strings.Cut(options[len(options)-1].Answer, ".")
	return first + "–" + last
}

// options are what can be chosen by reaction for the present question.
func (t *task) options() []agent.Option {
	if t.isHeld() {
		return []agent.Option{{Key: yesKey, Answer: yesKey}, {Key: noKey, Answer: noKey}}
	}
	return agent.Options(t.exec.CurrentQuestion)
}

// doReaction does a reaction that chooses an option, or stops a task. Any other
// is none of ours.
func (r *room) doReaction(ctx context.Context, row state.Inbound) error {
	e, _ := parseEvent(row.Raw)
	react, _ := e.reaction()
	target, about, err := r.taskOf(ctx, react.EventID)
	if err != nil {
		return err
	}
	if target == nil {
		return r.finish(ctx, row)
	}
	if strings.TrimRight(react.Key, "\uFE0F") == stopKey {
		r.books.Lock()
		defer r.books.Unlock()
		return r.stop(ctx, target.Key, row)
	}
	if !asks(about) {
		return r.finish(ctx, row)
	}
	t, n := newTask(r, *target), about.Number
	switch v := ofQuestion(target.State, n, len(t.exec.Answers)); v {
	case isAnswer:
		answer, ok := agent.Chosen(t.options(), react.Key)
		if !ok {
			break
		}
		if t.isHeld() && isYes(answer) && !e.Decrypted {
			encrypted, err := r.bot.account.IsEncrypted(ctx, r.id)
			if err != nil {
				return err
			}
			if encrypted {
				return r.tell(ctx, row, "Reactions are not encrypted, so your server could have added that ✅. To run the command, reply `yes` to my question.")
			}
		}
		return r.bind(ctx, row, target.Key, answer)
	case isLate:
		asked := t.exec.Answers[n].Question
		if _, ok := agent.Chosen(agent.Options(asked), react.Key); ok || react.Key == yesKey || react.Key == noKey {
			return r.tooLate(ctx, row, *target, v)
		}
	}
	return r.finish(ctx, row)
}

// link is a matrix.to link to a message of ours; "" while it is not in the room.
func (t *task) link(ctx context.Context, txn string) string {
	sent, err := t.bot.Journal.Message(ctx, txn)
	if err != nil || sent.Event == "" {
		return ""
	}
	return t.bot.linkTo(sent.Room, sent.Event, t.asker())
}
