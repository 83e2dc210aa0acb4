package task

import (
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/execution"
)

// text returns the text of the result. Call it before enter.
func (e ending) text() string {
	waited := e.t.exec.State == execution.Failed // while it was waiting
	switch {
	case e.out.Ended == agent.Stopped && e.t.rec.StopBy != "":
		rec, other := e.t.rec, ""
		if rec.StopBy != rec.Asker() {
			other = e.t.env.NameOf(rec.StopBy)
		}
		return stoppedText(other, waited || rec.Container != "" || rec.Approved != nil || len(e.t.exec.Answers) > 0 ||
			rec.Attempt > 1)
	case waited:
		text := "⚠️ " + e.out.Detail + "\n\n"
		if e.t.Question().IsHeld() {
			text += "The command was not run. "
		}
		return text + "The work so far is in /workspace: send the task again, and I will continue from there."
	}
	return finalText(e.out)
}

// stoppedText returns the result of a task that a person stopped, or somebody else than the asker. started says
// whether the agent may have changed something.
func stoppedText(other string, started bool) string {
	said := "⏹ Stopped"
	if other != "" {
		said += ", as " + other + " asked"
	}
	if said += "."; started {
		said += " Changes so far stay in /workspace."
	}
	return said
}

// fromBot reports whether the bot wrote a result, so that the agent's session does not
// contain it. 🛑 begins those of earlier releases.
func fromBot(text string) bool {
	return strings.HasPrefix(text, "⏹ ") || strings.HasPrefix(text, "⚠️ ") || strings.HasPrefix(text, "🛑 ")
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

// link returns a link to the task if the result cannot reply to it.
func (e ending) link() string {
	rec, env := &e.t.rec, e.t.env
	if !e.t.rec.Moved() || rec.Source != state.FromRoom {
		return ""
	}
	if to := env.Room.Link(rec.Home, rec.Event, rec.Requester); to != "" {
		return "\n\n[The task](" + to + ")"
	}
	return ""
}

// figures returns the figures of the task.
func (e ending) figures(failed int) string { return Figures(state.Usage(e.cost()), failed) }

// Figures returns the steps, time and tokens of a task, or "" if nothing ran. failed is how many of its steps did.
func Figures(total state.Usage, failed int) string {
	if total == (state.Usage{}) {
		return ""
	}
	var words []string
	if total.Steps > 0 {
		words = append(words, text.Plural(total.Steps, "step", "steps"))
		if failed > 0 {
			words[0] += fmt.Sprintf(", %d failed", failed)
		}
	}
	words = append(words, text.Duration(total.Time))
	if total.Tokens > 0 {
		words = append(words, text.Thousands(total.Tokens)+" tokens")
	}
	return strings.Join(words, " · ")
}

// heading returns the final text of the notice.
func (e ending) heading(failed int) string {
	head := "✗"
	switch {
	case e.out.Ended == agent.Completed && failed > 0:
		head = "⚠️"
	case e.out.Ended == agent.Completed:
		head = "✓"
	case e.out.Ended == agent.Stopped && e.t.rec.StopBy != "":
		head = "⏹ Stopped ·"
	}
	return strings.Trim(head+" "+e.figures(failed), " ·")
}

// cost returns the usage of the whole task.
func (e ending) cost() used {
	if e.t.exec.State == execution.Done || e.out.Usage.Total > 0 || len(e.out.Tools) > 0 || e.t.rec.Approved != nil {
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
