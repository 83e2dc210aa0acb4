package task

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"matrix-tui/bot/media"
	"matrix-tui/bot/progress"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
	"matrix-tui/workspace"
)

// WithFile returns the text of a task that came as a file; words are its caption or "".
func WithFile(f media.File, words string) string {
	text := FileCame
	if f.Kind == media.Voice {
		text = workspace.VoicePlaceholder
	}
	return strings.TrimSpace(text + "\n" + words)
}

// FileAnswer returns the text of an answer that came as a file: its caption, then the
// path that the file will have, if no other file has that name.
func FileAnswer(f media.File, words string) string {
	return strings.TrimSpace(words + "\n" + path.Join(media.InboxDir, f.FileName()))
}

// answerPath returns the last line of an answer that came as a file: its path. It is "" for other answers.
func answerPath(answer string) string {
	if last := answer[strings.LastIndex(answer, "\n")+1:]; path.Dir(last) == media.InboxDir {
		return last
	}
	return ""
}

// fileEvents returns the events that may carry files for the task, in order: its own,
// the one that it replies to, later messages, and answers.
func fileEvents(t *Task) []string {
	var events []string
	if t.rec.HasFile {
		events = append(events, t.rec.Event)
	}
	if t.rec.ReplyTo != "" {
		events = append(events, t.rec.ReplyTo)
	}
	for _, said := range t.rec.Said {
		if said.File {
			events = append(events, said.Event)
		}
	}
	for _, a := range t.exec.Answers {
		if a.Event != "" && strings.Contains(a.Answer, media.InboxDir+"/") {
			events = append(events, a.Event)
		}
	}
	return events
}

// acquireTransfer waits for a slot to transfer files, and calls waits first if none is
// free. The caller calls done to release it.
func acquireTransfer(ctx context.Context, env *Env, waits func()) (done func(), err error) {
	if !env.Transfers.TryAcquire(1) {
		waits()
		if err := env.Transfers.Acquire(ctx, 1); err != nil {
			return nil, err
		}
	}
	return func() { env.Transfers.Release(1) }, nil
}

// filesIn copies a task's files into its container.
type filesIn struct {
	t         *Task
	shown     *progress.Notice
	container media.Inbox
}

// copyIn copies the task's missing files into the container's inbox. If a file fails, it
// tells the room, and the task continues without the file. It returns only errors of the
// container, of ctx and of the journal.
func (i *filesIn) copyIn(ctx context.Context) error {
	rec, env := &i.t.rec, i.t.env
	var keep []string
	for _, event := range fileEvents(i.t) {
		if slices.ContainsFunc(rec.Files, func(f state.File) bool { return f.Event == event }) {
			continue
		}
		room := env.ID
		if event == rec.Event {
			room = rec.Home
		}
		f, ok, err := env.Room.File(ctx, room, event)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if keep == nil {
			if keep, err = i.kept(ctx); err != nil {
				return err
			}
		}
		copied, err := i.one(ctx, event, f, keep)
		if err != nil {
			return err
		}
		rec.Files = append(rec.Files, copied)
		keep = append(keep, path.Base(copied.Path))
		if copied.Missing == "" {
			continue
		}
		m := i.t.Voice().bare(state.KindFileNote, "-i"+state.Hash(event), copied.Missing)
		if room == env.ID {
			m.Relation, m.Target = state.Reply, event
		}
		if err := env.Room.Queue(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// kept returns the names of files that newer ones must not displace from the inbox:
// those of the task and of the room's waiting tasks.
func (i *filesIn) kept(ctx context.Context) ([]string, error) {
	waiting, err := i.t.env.Journal.Tasks.WaitingIn(ctx, i.t.env.ID)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	names := baseNames(i.t.rec.Files)
	for _, other := range waiting {
		names = append(names, baseNames(other.Files)...)
	}
	return names, nil
}

// baseNames returns the names of files in the inbox; never nil.
func baseNames(files []state.File) []string {
	names := []string{}
	for _, f := range files {
		if f.Path != "" {
			names = append(names, path.Base(f.Path))
		}
	}
	return names
}

// one downloads a file and copies it into the container, where the files named in keep
// stay.
func (i *filesIn) one(ctx context.Context, event string, f media.File, keep []string) (state.File, error) {
	env := i.t.env
	is := state.File{Event: event, Name: media.CleanName(f.Name), Caption: text.Cut(f.Caption, maxCaption),
		Voice: f.Kind == media.Voice}
	if f.Name == "" {
		is.Name = ""
	}
	done, err := acquireTransfer(ctx, env, func() { i.shown.Set("waiting for other rooms' file transfers") })
	if err != nil {
		return is, err
	}
	defer done()
	i.shown.Set("downloading a file")
	defer i.shown.Set("")
	var fetched *media.Fetched
	if fetched, err = env.Room.Fetch(ctx, f); err == nil {
		defer fetched.Close()
		is.Type, is.Size = fetched.Type, fetched.Size
		is.Path, err = media.Deliver(ctx, i.container, f.FileName(), event, fetched, keep)
	}
	switch {
	case err == nil:
		return is, nil
	case ctx.Err() != nil:
		return is, ctx.Err()
	case errors.Is(err, sandbox.ErrUnreachable):
		return is, &lostRun{err}
	}
	is.Missing = sentence.Log(env.Log, err)
	return is, nil
}
