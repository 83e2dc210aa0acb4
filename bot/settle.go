package bot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/agent"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// historyText bounds the part of an answer that the task record carries to the
// history, in bytes; the store's own bound is not larger.
const historyText = 16 << 10

// answer puts the result of a run into the outbox.
func (t *task) answer(ctx context.Context, out agent.Outcome) error {
	t.books.Lock()
	err := t.reread(ctx)
	t.books.Unlock()
	if err != nil && !errors.Is(err, errStopped) {
		return err
	}
	n := len(t.rec.Execution.Answers)
	closing := edit(txnRef+t.noticeTxn(n), notice(summary(t.rec, out)))
	return t.conclude(ctx, out, nil, t.room.out(t.noticeTxn(n)+"-e", "", closing))
}

// conclude puts the end of a task into the outbox, in one transaction with the
// row's new state and the end of other rows, closes: from here on the task is
// never run again. The messages in more go behind the result.
func (t *task) conclude(ctx context.Context, out agent.Outcome, closes []string, more ...state.Outbound) error {
	waited := t.rec.Execution.State == agent.Failed || t.rec.Execution.State == agent.WaitingForInput
	text := t.finalText(out)
	t.outcome(out, text)
	t.rec.Ended = out.Ended
	t.rec.Answer = cut(text, historyText)
	if t.rec.Resuming = out.Session != "" && out.Ended != agent.SessionGone; t.rec.Resuming {
		t.rec.Session = out.Session
	}
	grown, after := growth(out.Status, workspace.StatusPath)
	if waited {
		after = -1 // what the file was like at the end of its run says nothing
	}
	if t.rec.Status = after; !grown || out.Ended == agent.Stopped {
		t.rec.Line = workspace.StatusLines(time.Now(), t.text, statusOutcome(out))
	}
	data, err := t.encoded()
	if err != nil {
		return err
	}
	rows := append(t.finals(ctx, text+t.footer(ctx, out)), more...)
	if err := t.bot.Journal.Answer(ctx, t.id, t.row.Event, data, rows, closes...); err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	crash("answered")
	t.outbox.wake()
	t.bot.count.ended(out.Ended, t.cost(out))
	t.bot.log.Info().Str("room", t.id).Str("event", t.row.Event).Str("ended", string(out.Ended)).
		Int64("tokens", out.Usage.Total).Dur("took_ms", time.Since(t.rec.Begun)).Msg("task answered")
	return nil
}

// finals are the messages of the result.
func (t *task) finals(ctx context.Context, text string) []state.Outbound {
	messages := t.messages(ctx, text, "answer", t.bot.NotifyComplete)
	rows := make([]state.Outbound, len(messages))
	for i, m := range messages {
		rows[i] = t.room.out(fmt.Sprintf("%s-f%d", t.key, i), t.row.Event, m)
	}
	return rows
}

// messages says a text in reply to the task, loud or as a notice that no phone
// rings for. One that is too long for a few messages goes as a file, behind its
// beginning.
func (t *task) messages(ctx context.Context, text, name string, loud bool) []*message {
	messages := answer(text, t.anchor())
	if len(messages) > maxParts {
		beginning := fitting(text, partSize-512)[0] // the note has to fit behind it
		note := fmt.Sprintf("\n\n… The whole %s (%s) is in the file below.", name, size(len(text)))
		uri, err := t.upload(ctx, name+".md", text)
		if err != nil {
			t.bot.log.Warn().Err(err).Str("room", t.id).Msg("upload " + name)
			note = fmt.Sprintf("\n\n… The %s is longer (%s); the rest was cut, because the homeserver did not take it as a file.", name, size(len(text)))
		}
		messages = answer(beginning+note, t.anchor())
		if err == nil {
			messages = append(messages, fileMessage(name+".md", uri, len(text)))
		}
	}
	if loud {
		t.mention(messages[0])
		return messages
	}
	for _, m := range messages {
		if m.MsgType == event.MsgText {
			m.MsgType = event.MsgNotice
		}
	}
	return messages
}

// mention has the asker's phone ring, and nobody else's.
func (t *task) mention(m *message) {
	if asker := t.asker(); asker != "" {
		m.Mentions = &event.Mentions{UserIDs: []id.UserID{id.UserID(asker)}}
	}
}

func (t *task) upload(ctx context.Context, name, text string) (id.ContentURIString, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	resp, err := t.bot.client.UploadBytesWithName(ctx, []byte(text), "text/markdown", name)
	if err != nil {
		return "", fmt.Errorf("upload %s: %w", name, err)
	}
	return resp.ContentURI.CUString(), nil
}

// settle writes down what came of an answered task and ends its row. Each step
// may be repeated.
func (t *task) settle(ctx context.Context) error {
	b := t.bot
	t.outbox.wake()
	if err := t.endTranscript(); err != nil {
		return fmt.Errorf("end transcript: %w", err)
	}
	if err := t.remember(ctx); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	crash("saved")
	if err := t.tidy(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.log.Warn().Err(err).Str("room", t.id).Msg("tidy up after a task")
	}
	if err := t.finish(ctx, t.row); err != nil {
		return err
	}
	crash("finished")
	return nil
}

// remember puts session and history into state.json, at once, so that they can
// share a write.
func (t *task) remember(ctx context.Context) error {
	var both errgroup.Group
	if t.rec.Resuming {
		both.Go(func() error { return t.bot.Store.SetSession(ctx, t.id, t.rec.Session) })
	}
	both.Go(func() error { return t.bot.Store.AppendHistory(ctx, t.id, t.remembered()...) })
	both.Go(func() error { return t.project(ctx, t.row.Event) })
	return both.Wait()
}

// tidy leaves the line in status.md that the agent forgot, and removes the
// run's output from the box. It does not wait for a box that is not there.
func (t *task) tidy(ctx context.Context) error {
	if t.rec.Run == "" || t.rec.Box == "" {
		return nil
	}
	box, err := t.ensureOnce(ctx)
	if err != nil {
		return err
	}
	if t.rec.Line != "" {
		if err := appendLine(ctx, box, t.rec.Line, t.rec.Status); err != nil {
			return err
		}
	}
	if box.ID != t.rec.Box {
		return nil
	}
	return box.RemoveRun(ctx, t.rec.Run)
}

// removeRun removes the output of a run that has been read.
func (t *task) removeRun(ctx context.Context) error {
	box, err := t.ensureOnce(ctx)
	if err != nil || box.ID != t.rec.Box {
		return err
	}
	return box.RemoveRun(ctx, t.rec.Run)
}

// appendLine adds to status.md, unless a former life has done it: then the file
// has grown beyond the size it had after the run, or, where that is -1, has the
// line at its end. The file is the agent's, and may be anything: only a regular
// one is written to.
func appendLine(ctx context.Context, box *sandbox.Box, line string, after int64) error {
	const script = `[ ! -L "$1" ] && { [ ! -e "$1" ] || [ -f "$1" ]; } || exit 3
if [ "$3" -lt 0 ]; then
	[ ! -e "$1" ] || ! tail -c 65536 -- "$1" | tr '\n' '\001' | grep -qF -- "$(printf %s "$2" | tr '\n' '\001')" || exit 0
else
	[ "$(stat -c %s -- "$1" 2>/dev/null || echo 0)" -le "$3" ] || exit 0
fi
printf %s "$2" >> "$1"`
	res, err := box.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", script, "sh", workspace.StatusPath, line, strconv.FormatInt(after, 10)}})
	if err != nil {
		return fmt.Errorf("append to status.md: %w", err)
	}
	if res.Code != 0 {
		return fmt.Errorf("append to status.md: exit %d", res.Code)
	}
	return nil
}

// finalText is what the room is told at the end.
func (t *task) finalText(out agent.Outcome) string {
	switch {
	case out.Ended == agent.Stopped && t.rec.Stop != nil:
		return t.stoppedText(out)
	case t.rec.Execution.State == agent.Failed: // it waited, and nobody answered
		text := "⚠️ " + out.Detail + "\n\n"
		if t.rec.Held != nil {
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
	text := strings.TrimSpace(out.Text)
	switch {
	case out.Ended == agent.Completed && text != "":
		if out.Truncated {
			text += "\n\n… I cut the answer here: it was longer than I can keep."
		}
		return text
	case out.Ended == agent.Interrupted:
		return "⚠️ " + interruptedOften
	}
	detail := out.Detail
	if detail == "" {
		detail = "The agent ended without an answer (" + string(out.Ended) + "). Please send the task again."
	}
	if text != "" {
		return "⚠️ " + detail + "\n\nUntil then it had said:\n\n" + text
	}
	return "⚠️ " + detail
}

// cost is what the whole task has used, with the run that came to out.
func (t *task) cost(out agent.Outcome) used {
	if t.rec.Execution.State == agent.Done || out.Usage.Total > 0 || len(out.Tools) > 0 {
		return t.rec.Used.with(t.rec.Begun, out)
	}
	return t.rec.Used // it ended without a run, or while it waited
}

// footer is the last line of a result: how long it took, what it used, and the
// way to the task. Without NOTIFY_ON_COMPLETE, and where nothing ran, there is
// none.
func (t *task) footer(ctx context.Context, out agent.Outcome) string {
	total := t.cost(out)
	if !t.bot.NotifyComplete || total == (used{}) {
		return ""
	}
	parts := append([]string{short(total.Time)}, total.words()...)
	link := ""
	if t.row.Type != typeExecute {
		link = t.room.linkTo(t.row.Event)
	} else {
		link = t.link(ctx, t.key+"-t")
	}
	if link != "" {
		parts = append(parts, "[the task]("+link+")")
	}
	return "\n\n_" + strings.Join(parts, " · ") + "_"
}

// statusOutcome is the outcome for status.md: the first line of the answer.
func statusOutcome(out agent.Outcome) string {
	text := out.Detail
	if out.Ended == agent.Completed {
		text = out.Text
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// growth tells whether a watched file is longer than at the start, and how
// long it is, in bytes.
func growth(status sandbox.RunStatus, path string) (grown bool, after int64) {
	for _, w := range status.Watch {
		if w.Path == path {
			return w.After > w.Before, w.After
		}
	}
	return false, 0
}
