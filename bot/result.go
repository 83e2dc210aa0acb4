package bot

import (
	"context"
	"fmt"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/matrix"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// finals are the messages of the result.
func (t *task) finals(ctx context.Context, text string) []state.Message {
	messages := t.messages(ctx, text, "answer", t.bot.NotifyComplete)
	rows := make([]state.Message, len(messages))
	for i, m := range messages {
		rows[i] = t.out(state.KindFinal, i, fmt.Sprintf("%s-f%d", t.rec.Key, i), m)
	}
	return rows
}

// messages says a text in reply to the task, loud or as a notice that no phone
// rings for. One that is too long for a few messages goes as a file, behind its
// beginning.
func (t *task) messages(ctx context.Context, words, name string, loud bool) []*message {
	whole := words
	words = t.remindOf(words)
	var messages []*message
	if len(words) <= maxParts*partSize { // else it takes more
		messages = answer(words, t.anchor())
	}
	if len(messages) == 0 || len(messages) > maxParts {
		beginning := text.Fit(words, partSize-512, fits)[0] // the note has to fit behind it
		note := fmt.Sprintf("\n\n… The whole %s (%s) is in the file below.", name, text.Size(int64(len(whole))))
		file, err := t.uploaded(ctx, name+".md", whole)
		if err != nil {
			t.bot.log.Warn().Err(err).Str("room", t.id).Msg("upload " + name)
			note = fmt.Sprintf("\n\n… The %s is longer (%s); the rest was cut, because the homeserver did not take it as a file.", name, text.Size(int64(len(whole))))
		}
		messages = answer(beginning+note, t.anchor())
		if err == nil {
			messages = append(messages, file)
		}
	}
	messages[0].RelatesTo = relate(t.origin(), t.anchor())
	for _, m := range messages[1:] {
		m.RelatesTo = follows(t.origin())
	}
	if loud {
		t.mention(messages[0])
		return messages
	}
	for _, m := range messages {
		if m.MsgType == matrix.MsgText {
			m.MsgType = matrix.MsgNotice
		}
	}
	return messages
}

// mention has the asker's phone ring, and nobody else's.
func (t *task) mention(m *message) {
	if asker := t.asker(); asker != "" {
		m.Mentions = &matrix.Mentions{UserIDs: []string{asker}}
	}
}

// finalText is what the room is told at the end.
func (t *task) finalText(out agent.Outcome) string {
	switch {
	case out.Ended == agent.Stopped && t.rec.StopBy != "":
		return t.stoppedText(out)
	case t.exec.State == agent.Failed: // it waited, and nobody answered
		text := "⚠️ " + out.Detail + "\n\n"
		if t.isHeld() {
			text += "The command was not run. "
		}
		return text + "What was done so far is in /workspace: send the task again, and I begin from there."
	}
	return finalText(out)
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
func (t *task) cost(out agent.Outcome) used {
	if t.exec.State == agent.Done || out.Usage.Total > 0 || len(out.Tools) > 0 {
		return used(t.rec.Used).with(t.rec.Begun, out)
	}
	return used(t.rec.Used) // it ended without a run, or while it waited
}

// footer is the last line of a result: how long it took, what it used, and the
// way to the task. Without NOTIFY_ON_COMPLETE, and where nothing ran, there is
// none.
func (t *task) footer(ctx context.Context, out agent.Outcome) string {
	total := t.cost(out)
	if !t.bot.NotifyComplete || total == (used{}) {
		return ""
	}
	parts := append([]string{text.Duration(total.Time)}, total.words()...)
	link := ""
	if t.rec.Source != state.FromHTTP {
		link = t.bot.linkTo(t.rec.Home, t.rec.Event, t.rec.Requester)
	} else {
		link = t.link(ctx, t.rec.Key+"-t")
	}
	if link != "" {
		parts = append(parts, "[the task]("+link+")")
	}
	return "\n\n_" + strings.Join(parts, " · ") + "_"
}
