package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"maunium.net/go/mautrix/id"

	"matrix-tui/agent"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// historyText bounds the part of an answer that the task record carries to the
// history, in bytes; the store's own bound is not larger.
const historyText = 16 << 10

// answer puts the result into the outbox, in one transaction with the row's
// new state: from here on the task is never run again.
func (t *task) answer(ctx context.Context, out agent.Outcome) error {
	text := finalText(out)
	t.rec.Ended = out.Ended
	t.rec.Answer = cut(text, historyText)
	t.rec.Resuming = out.Session != "" && out.Ended != agent.SessionGone
	if out.Session != "" {
		t.rec.Session = out.Session
	}
	grown, after := growth(out.Status, workspace.StatusPath)
	if t.rec.Status = after; !grown {
		t.rec.Line = workspace.StatusLines(time.Now(), t.text, statusOutcome(out))
	}
	rows := t.finals(ctx, text)
	rows = append(rows, t.room.out(t.key+"-e", "", edit(txnRef+t.key+"-n", notice(summary(t.rec, out)))))
	data, err := json.Marshal(t.rec)
	if err != nil {
		return fmt.Errorf("marshal task record: %w", err)
	}
	if err := t.bot.Journal.Answer(ctx, t.id, t.row.Event, data, rows); err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	crash("answered")
	t.outbox.wake()
	t.bot.log.Info().Str("room", t.id).Str("event", t.row.Event).Str("ended", string(out.Ended)).
		Int64("tokens", out.Usage.Total).Dur("took_ms", time.Since(t.rec.Begun)).Msg("task answered")
	return nil
}

// finals are the messages of the result. One that is too long for a few
// messages goes as a file, behind its beginning.
func (t *task) finals(ctx context.Context, text string) []state.Outbound {
	messages := answer(text, t.row.Sender, t.row.Event)
	if len(messages) > maxParts {
		beginning := fitting(text, partSize-512)[0] // the note has to fit behind it
		note := fmt.Sprintf("\n\n… The whole answer (%s) is in the file below.", size(len(text)))
		uri, err := t.upload(ctx, "answer.md", text)
		if err != nil {
			t.bot.log.Warn().Err(err).Str("room", t.id).Msg("upload answer")
			note = fmt.Sprintf("\n\n… The answer is longer (%s); the rest was cut, because the homeserver did not take it as a file.", size(len(text)))
		}
		messages = answer(beginning+note, t.row.Sender, t.row.Event)
		if err == nil {
			messages = append(messages, fileMessage("answer.md", uri, len(text)))
		}
	}
	rows := make([]state.Outbound, len(messages))
	for i, m := range messages {
		rows[i] = t.room.out(fmt.Sprintf("%s-f%d", t.key, i), t.row.Event, m)
	}
	return rows
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
	both.Go(func() error {
		return t.bot.Store.AppendHistory(ctx, t.id,
			state.Turn{Role: "user", Content: t.text, Event: t.row.Event},
			state.Turn{Role: "assistant", Content: t.rec.Answer, Event: t.row.Event})
	})
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

// appendLine adds to status.md, unless the file has grown beyond the size it
// had after the run: then a former life has done it. The file is the agent's,
// and may be anything: only a regular one is written to.
func appendLine(ctx context.Context, box *sandbox.Box, line string, after int64) error {
	const script = `[ ! -L "$1" ] && { [ ! -e "$1" ] || [ -f "$1" ]; } || exit 3
[ "$(stat -c %s -- "$1" 2>/dev/null || echo 0)" -le "$3" ] || exit 0
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
