package task

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"matrix-tui/bot/recall"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/scrub"
	"matrix-tui/workspace"
)

// Forgot is what was forgotten.
type Forgot struct {
	Entries int
	Open    bool // a task that has not ended still has it
	Later   bool // the container could not be cleaned yet
}

// Forget removes texts from wherever they are kept of the room: the record with its tasks, answers and notes, the
// history, the transcript, and the index. A message or a result that contains one goes as a whole.
// Only hashes stay, so that no file brings them back. The session ends. The container's notes and recordings follow
// at once, if the container can be used, and otherwise before its next task. It may be repeated.
func (e *Env) Forget(ctx context.Context, texts, events []string) (out Forgot, err error) {
	if err := e.Store.Conversations.EndSession(ctx, e.ID); err != nil {
		return out, fmt.Errorf("end session: %w", err)
	}
	if err := e.Journal.Memory.MarkUntidy(ctx, e.ID); err != nil {
		return out, err
	}
	for _, event := range events {
		if err := e.Redact(ctx, e.ID, event); err != nil {
			return out, err
		}
	}
	change := scrub.Without(texts...)
	if out, err = e.scrub(ctx, change); err != nil {
		return out, err
	}
	if err := e.Recall.Rebuild(ctx, e.ID); err != nil || e.Store.Containers.Of(e.ID) == "" {
		return out, err
	}
	out.Entries += len(events)
	container, err := e.Ensure(ctx, false, nil)
	if err == nil {
		var lines int
		lines, err = e.tidy(ctx, container, change)
		out.Entries = max(out.Entries, lines)
	}
	if err != nil && ctx.Err() == nil {
		e.Log.Warn().Err(err).Str("room", e.ID).Msg("cannot remove what was forgotten from the container yet")
		out.Later, err = true, nil
	}
	return out, err
}

// scrub removes texts from all but the container. The record is scrubbed late: what is to go is known from there, also
// after a crash. The index is doubted before it, for a crash, and follows it after that.
func (e *Env) scrub(ctx context.Context, change *scrub.Scrub) (out Forgot, err error) {
	if err := e.Recall.Doubt(ctx, e.ID); err != nil {
		return out, err
	}
	homes := append([]string{e.ID}, e.Store.Predecessors(e.ID)...)
	for _, home := range homes {
		found, err := e.Transcripts.Scrub(home, change)
		if err != nil {
			return out, err
		}
		if found {
			out.Entries++
		}
	}
	if _, err := e.Store.Conversations.Scrub(ctx, e.ID, change); err != nil {
		return out, fmt.Errorf("scrub history: %w", err)
	}
	e.Store.Rewrite()
	var gone []string
	for _, home := range homes {
		one, err := e.Journal.Removal.Scrub(ctx, e.ID, home, change, workspace.StatusText)
		if err != nil {
			return out, err
		}
		gone, out.Open = append(gone, one.Texts...), out.Open || one.Open
		if one.Found {
			out.Entries++
		}
	}
	if err := e.Journal.Removal.Clear(ctx); err != nil {
		return out, err
	}
	slices.Sort(gone)
	out.Entries = max(out.Entries, len(slices.Compact(gone)))
	return out, e.Recall.Settle(ctx, e.ID)
}

// sweep removes recordings of the CLI, except those of some sessions.
const sweep = `keep=; for id; do keep="$keep|$id|-$(printf %.8s "$id")\.jsonl"; done
find /root/.gemini/tmp -type f \( -path '*/chats/*' -o -path '*/tool-outputs/*' -o -path '*/logs/*' \) 2>/dev/null | grep -vE "^$keep" | tr '\n' '\0' | xargs -0r rm -f --`

// tidy removes what was forgotten from the container: from the files of notes, and with the recordings of sessions
// that nobody continues. change also finds lines that are no notes; nil if the text is not known any more. It returns
// how many lines it has removed.
func (e *Env) tidy(ctx context.Context, container *sandbox.Container, change *scrub.Scrub) (lines int, err error) {
	untidy, err := e.Journal.Memory.Untidy(ctx, e.ID)
	if err != nil || !untidy {
		return 0, err
	}
	keep := append([]string{"no session"}, e.Sessions(ctx)...)
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: append([]string{"sh", "-c", sweep, "sh"}, keep...)})
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("exit %d", res.Code)
	}
	if err != nil {
		return 0, fmt.Errorf("remove recordings: %w", err)
	}
	if lines, err = syncFiles(ctx, e, container, change); err != nil {
		return lines, err
	}
	return lines, e.Journal.Memory.Tidied(ctx, e.ID)
}

// syncFiles brings the files of notes and the record in line.
func syncFiles(ctx context.Context, e *Env, container *sandbox.Container, change *scrub.Scrub) (lines int, err error) {
	return e.Recall.Sync(ctx, e.ID, container, change, func(ctx context.Context, gone *scrub.Scrub) error {
		_, err := e.scrub(ctx, gone)
		return err
	})
}

// Redact removes what a redacted message of the room home said from wherever the room has it. If the room's session
// has it, the next task starts a new one: the session's own recording cannot lose it. A task that has not ended keeps
// its session until then. It may be repeated: the message itself goes last.
func (e *Env) Redact(ctx context.Context, home, event string) error {
	words := long(e.saidIn(ctx, home, event))
	if err := e.Store.Conversations.Redact(ctx, e.ID, event); err != nil {
		return fmt.Errorf("redact message in history: %w", err)
	}
	if err := e.Transcripts.Redact(e.ID, event); err != nil {
		return err
	}
	for _, text := range words { // in the files, too
		if err := e.Journal.Memory.KeepForgotten(ctx, e.ID, text, workspace.StatusText(text)); err != nil {
			return err
		}
	}
	if err := e.Journal.Memory.RedactNotes(ctx, e.ID, event); err != nil {
		return err
	}
	told := state.Message{Txn: state.KeyOf(home, event) + "-unscheduled", Room: e.ID, Kind: state.KindReply, Notice: true,
		Body: "🗓 The message is deleted, and what it had scheduled is removed:"}
	if gone, err := e.Journal.Schedule.RemoveOf(ctx, e.ID, event, told); err != nil {
		return err
	} else if gone {
		e.Room.Wake()
	}
	if _, err := e.scrub(ctx, scrub.Replacing(scrub.Deleted, words...).Sparing(home, event)); err != nil {
		return err
	}
	session := e.Store.Conversations.Session(e.ID)
	received, err := e.Journal.Removal.Quoted(ctx, home, event, e.ID, session)
	if err != nil {
		return err
	}
	tasks, err := e.Journal.Removal.Redact(ctx, home, event, e.ID)
	if err != nil {
		return err
	}
	for _, rec := range tasks {
		received = received || rec.Attempt > 0 && (rec.State != state.TaskDone || session != "" && rec.Session == session)
	}
	if received {
		if err := e.Store.Conversations.EndSession(ctx, e.ID); err != nil {
			return fmt.Errorf("end session: %w", err)
		}
	}
	return e.Journal.Removal.Clear(ctx)
}

// Rewrite puts what a message says now in the place of what it said, wherever the room has that. It may be repeated:
// the message itself goes last, and not before the tasks that have it.
func (e *Env) Rewrite(ctx context.Context, edit recall.Edit) error {
	was := slices.DeleteFunc(long(e.saidIn(ctx, e.ID, edit.Event)), func(text string) bool { return text == edit.Text })
	if len(was) == 0 {
		return nil
	}
	gone := slices.Clone(was)
	for _, text := range was {
		gone = append(gone, workspace.StatusText(text))
	}
	err := e.Journal.Memory.KeepForgotten(ctx, e.ID, gone...)
	if err = errors.Join(err, e.Journal.Memory.Welcome(ctx, e.ID, edit.Text,
		workspace.StatusText(edit.Text))); err != nil {
		return err
	}
	change := scrub.Replacing(edit.Text, was...)
	out, err := e.scrub(ctx, change.Sparing(e.ID, edit.Event))
	if err == nil {
		err = e.Recall.Relearn(ctx, e.ID, edit.Event)
	}
	if err != nil || out.Open {
		return err
	}
	if _, err := e.Journal.Removal.Scrub(ctx, e.ID, e.ID, change); err != nil {
		return err
	}
	return e.Journal.Removal.Clear(ctx)
}

// saidIn returns what a message said, also by its edits; nothing if the journal no longer knows that.
func (e *Env) saidIn(ctx context.Context, home, event string) (words []string) {
	one, err := e.Journal.Events.Get(ctx, home, event)
	if err != nil {
		return nil
	}
	add := func(text string) {
		if text = Spoken(text); text != "" && !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	if m, ok := one.Message(); ok {
		body := m.Body
		if m.IsFile() {
			body = m.Caption()
		}
		add(m.Command)
		add(body)
	}
	edits, err := e.Journal.Events.Edits(ctx, home, one.Seq)
	if err != nil {
		return words
	}
	for _, edit := range edits {
		if edit.Relation().EventID == event && edit.Sender == one.Sender {
			add(EditedWords(edit.Event))
		}
	}
	return words
}

// long returns the texts that are no mere words: others may have said those, too.
func long(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return len(text) < 12 })
}
