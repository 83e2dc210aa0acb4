package task

import (
	"context"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// text is what the room is told at the end, before the outcome is entered.
func (e ending) text() string {
	waited := e.t.exec.State == agent.Failed // and nobody answered
	switch {
	case e.out.Ended == agent.Stopped && e.t.rec.StopBy != "":
		return stoppedText(e.t, waited)
	case waited:
		text := "⚠️ " + e.out.Detail + "\n\n"
		if e.t.Question().IsHeld() {
			text += "The command was not run. "
		}
		return text + "The work so far is in /workspace: send the task again, and I will continue from there."
	}
	return finalText(e.out)
}

// stoppedText is what the room is told when a task was stopped.
func stoppedText(t *Task, waited bool) string {
	rec := &t.rec
	by, begun := Localpart(rec.StopBy), rec.Container != "" || rec.Approved != nil
	switch {
	case waited, !begun && len(t.exec.Answers) > 0:
		return "🛑 Cancelled, as " + by + " asked. Changes so far stay in /workspace."
	case !begun:
		return "🛑 Stopped, as " + by + " asked, before it began."
	}
	return "🛑 Stopped, as " + by + " asked. Every process of the task is gone; its changes stay in /workspace."
}

// ours tells a result that the bot has written itself, so that the agent's
// session knows nothing of it.
func fromBot(text string) bool {
	return strings.HasPrefix(text, "🛑 ") || strings.HasPrefix(text, "⚠️ ")
}

// finalText is what the room is told of a run's outcome.
func finalText(out agent.Outcome) string {
	said := strings.TrimSpace(text.Visible(out.Text))
	switch {
	case out.Ended == agent.Completed && said != "":
		if out.Truncated {
			said += "\n\n… The answer is cut here because it is too long to store."
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

// footer is the last line of a result: how long it took, what it used, and the
// way to the task. Without NOTIFY_ON_COMPLETE, and where nothing ran, there is
// none.
func (e ending) footer(ctx context.Context) string {
	rec, env, total := &e.t.rec, e.t.env, e.cost()
	if !env.NotifyComplete || total == (used{}) {
		return ""
	}
	parts := append([]string{text.Duration(total.Time)}, total.words()...)
	to := ""
	if rec.Source != state.FromHTTP {
		to = env.Room.Link(rec.Home, rec.Event, rec.Requester)
	} else {
		to = link(ctx, e.t, arrivalTxn(rec.Key))
	}
	if to != "" {
		parts = append(parts, "[the task]("+to+")")
	}
	return "\n\n_" + strings.Join(parts, " · ") + "_"
}

// summary is the last word on the notice, with how many steps of the run failed.
func (e ending) summary(shown *progress) string {
	head := "✅ Done in "
	if e.out.Ended != agent.Completed {
		head = "❌ Ended after "
	}
	cost := used{}.with(e.t.rec.Begun, e.out)
	words := append([]string{text.Duration(cost.Time)}, cost.words()...)
	if shown != nil {
		if n := shown.failed(); n > 0 {
			words = append(words, text.Plural(n, "step", "steps")+" failed")
		}
	}
	return head + strings.Join(words, " · ")
}

// cost is what the whole task has used.
func (e ending) cost() used {
	if e.t.exec.State == agent.Done || e.out.Usage.Total > 0 || len(e.out.Tools) > 0 {
		return used(e.t.rec.Used).with(e.t.rec.Begun, e.out)
	}
	return used(e.t.rec.Used) // it ended without a run, or while it waited
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

// words are the steps and tokens, where there are any.
func (u used) words() (words []string) {
	if u.Steps > 0 {
		words = append(words, text.Plural(u.Steps, "step", "steps"))
	}
	if u.Tokens > 0 {
		words = append(words, text.Thousands(u.Tokens)+" tokens")
	}
	return words
}
