package task

import (
	"context"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// text returns the text of the result. Call it before enter.
func (e ending) text() string {
	waited := e.t.exec.State == agent.Failed // while it was waiting
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

// stoppedText returns the result of a stopped task.
func stoppedText(t *Task, waited bool) string {
	rec := &t.rec
	by, started := t.env.NameOf(rec.StopBy), rec.Container != "" || rec.Approved != nil
	switch {
	case waited, !started && (len(t.exec.Answers) > 0 || rec.Attempt > 1):
		return "🛑 Cancelled, as " + by + " asked. Changes so far stay in /workspace."
	case !started:
		return "🛑 Stopped, as " + by + " asked, before it began."
	}
	return "🛑 Stopped, as " + by + " asked. Every process of the task is gone; its changes stay in /workspace."
}

// fromBot reports whether the bot wrote a result, so that the agent's session does not
// contain it.
func fromBot(text string) bool {
	return strings.HasPrefix(text, "🛑 ") || strings.HasPrefix(text, "⚠️ ")
}

// finalText returns the result for the outcome of a run.
func finalText(out agent.Outcome) string {
	said := strings.TrimSpace(text.Visible(out.Text))
	switch {
	case out.Ended == agent.Completed && said != "":
		if out.Truncated {
			said += "\n\n… The answer is cut here because it is too long to store."
		}
		if out.Cut != "" {
			said = text.Close(said) + "\n\n_" + out.Cut + "_"
		}
		return said
	case out.Ended == agent.Interrupted:
		return "⚠️ " + interruptedOften
	case out.Ended == agent.Overflow:
		return "⚠️ " + overflowedTwice
	}
	detail := out.Detail
	if detail == "" {
		detail = "The agent ended without an answer (" + string(out.Ended) + "). Please send the task again."
	}
	if said != "" {
		return "⚠️ " + detail + "\n\nIts answer up to that point:\n\n" + said
	}
	return "⚠️ " + detail
}

// footer returns the last line of a result: time, usage and a link to the task. It is
// empty without NOTIFY_ON_COMPLETE or if nothing ran.
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

// summary returns the final text of the notice.
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

// cost returns the usage of the whole task.
func (e ending) cost() used {
	if e.t.exec.State == agent.Done || e.out.Usage.Total > 0 || len(e.out.Tools) > 0 {
		return used(e.t.rec.Used).with(e.t.rec.Begun, e.out)
	}
	return used(e.t.rec.Used) // it ended without a run, or while it was waiting
}

// used is the usage of a task.
type used state.Usage

// with adds a run that started at a time and ends now.
func (u used) with(started time.Time, out agent.Outcome) used {
	u.Time += time.Since(started)
	u.Tokens += out.Usage.Total
	for _, n := range out.Tools {
		u.Steps += n
	}
	return u
}

// words returns the numbers of steps and tokens that are not 0.
func (u used) words() (words []string) {
	if u.Steps > 0 {
		words = append(words, text.Plural(u.Steps, "step", "steps"))
	}
	if u.Tokens > 0 {
		words = append(words, text.Thousands(u.Tokens)+" tokens")
	}
	return words
}
