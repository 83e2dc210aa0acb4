package task

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// final is the message of the result.
func (t *Task) final(text string) Message {
	m := t.long("answer", text, t.env.NotifyComplete)
	m.Kind, m.Txn = state.KindFinal, t.rec.Key+"-f0"
	m.Long.Kind, m.Long.Txn = state.KindFinal, t.rec.Key+"-f"
	return m
}

// long is a text in reply to the task, loud or as a notice that no phone rings
// for. Name is what it is called as a file.
func (t *Task) long(name, text string, loud bool) Message {
	m := t.message(0, text)
	m.Notice, m.Long = !loud, &Long{Name: name, Before: t.reminder()}
	if loud {
		m.Mention = t.Asker()
	}
	return m
}

// finalText is what the room is told at the end.
func (t *Task) finalText(out agent.Outcome) string {
	switch {
	case out.Ended == agent.Stopped && t.rec.StopBy != "":
		return t.stoppedText(out)
	case t.exec.State == agent.Failed: // it waited, and nobody answered
		text := "⚠️ " + out.Detail + "\n\n"
		if t.IsHeld() {
			text += "The command was not run. "
		}
		return text + "What was done so far is in /workspace: send the task again, and I begin from there."
	}
	return finalText(out)
}

// stoppedText is what the room is told when a task was stopped.
func (t *Task) stoppedText(out agent.Outcome) string {
	by := Localpart(t.rec.StopBy)
	switch {
	case t.exec.State == agent.Failed, // before this outcome: it waited
		t.rec.Container == "" && t.rec.Approved == nil && len(t.exec.Answers) > 0:
		return "🛑 Given up, as " + by + " asked. What was changed so far stays in /workspace."
	case t.rec.Container == "" && t.rec.Approved == nil:
		return "🛑 Stopped, as " + by + " asked, before it began."
	}
	return "🛑 Stopped, as " + by + " asked. Every process of the task is gone; what it changed stays in /workspace."
}

// ours tells a result that the bot has written itself, so that the agent's
// session knows nothing of it.
func ours(text string) bool {
	return strings.HasPrefix(text, "🛑 ") || strings.HasPrefix(text, "⚠️ ")
}

// finalText is what the room is told of a run's outcome.
func finalText(out agent.Outcome) string {
	said := strings.TrimSpace(text.Visible(out.Text))
	switch {
	case out.Ended == agent.Completed && said != "":
		if out.Truncated {
			said += "\n\n… I cut the answer here: it was longer than I can keep."
		}
		return said
	case out.Ended == agent.Interrupted:
		return "⚠️ " + interruptedOften
	}
	detail := out.Detail
	if detail == "" {
		detail = "The agent ended without an answer (" + string(out.Ended) + "). Please send the task again."
	}
	if said != "" {
		return "⚠️ " + detail + "\n\nUntil then it had said:\n\n" + said
	}
	return "⚠️ " + detail
}

// cost is what the whole task has used, with the run that came to out.
func (t *Task) cost(out agent.Outcome) used {
	if t.exec.State == agent.Done || out.Usage.Total > 0 || len(out.Tools) > 0 {
		return used(t.rec.Used).with(t.rec.Begun, out)
	}
	return used(t.rec.Used) // it ended without a run, or while it waited
}

// footer is the last line of a result: how long it took, what it used, and the
// way to the task. Without NOTIFY_ON_COMPLETE, and where nothing ran, there is
// none.
func (t *Task) footer(ctx context.Context, out agent.Outcome) string {
	total := t.cost(out)
	if !t.env.NotifyComplete || total == (used{}) {
		return ""
	}
	parts := append([]string{text.Duration(total.Time)}, total.words()...)
	link := ""
	if t.rec.Source != state.FromHTTP {
		link = t.env.Room.Link(t.rec.Home, t.rec.Event, t.rec.Requester)
	} else {
		link = t.link(ctx, t.rec.Key+"-t")
	}
	if link != "" {
		parts = append(parts, "[the task]("+link+")")
	}
	return "\n\n_" + strings.Join(parts, " · ") + "_"
}

// maxReminder bounds what a text reminds of a task in another room, in bytes.
const maxReminder = 200

// reminder stands before a text that cannot reply to what it is about.
func (t *Task) reminder() string {
	if !t.Moved() {
		return ""
	}
	about := text.Cut(strings.Join(strings.Fields(t.text), " "), maxReminder)
	if asker := t.Asker(); asker != "" {
		about = Localpart(asker) + ": " + about
	}
	return "> " + about + "\n\n"
}

// used is what a task has cost.
type used state.Usage

// with adds a run that ends now and was begun at a time.
func (u used) with(begun time.Time, out agent.Outcome) used {
	u.Time += time.Since(begun)
	u.Tokens += out.Usage.Total
	for _, n := range out.Tools {
		u.Steps += n
	}
	return u
}

// summary is the notice at the end.
func summary(begun time.Time, out agent.Outcome) string {
	head := "✅ Done in "
	if out.Ended != agent.Completed {
		head = "❌ Ended after "
	}
	cost := used{}.with(begun, out)
	return head + strings.Join(append([]string{text.Duration(cost.Time)}, cost.words()...), " · ")
}

// summary is the notice at the end, with how many steps of the run failed.
func (w *Work) summary(out agent.Outcome) string {
	text := summary(w.rec.Begun, out)
	if w.shown == nil {
		return text
	}
	switch n := w.shown.failed(); n {
	case 0:
		return text
	case 1:
		return text + " · 1 step failed"
	default:
		return text + fmt.Sprintf(" · %d steps failed", n)
	}
}

// words are the steps and tokens, where there are any.
func (u used) words() (words []string) {
	if u.Steps == 1 {
		words = append(words, "1 step")
	} else if u.Steps > 1 {
		words = append(words, fmt.Sprintf("%d steps", u.Steps))
	}
	if u.Tokens > 0 {
		words = append(words, text.Thousands(u.Tokens)+" tokens")
	}
	return words
}
