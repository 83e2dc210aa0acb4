package task

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"matrix-tui/bot/media"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// WithFile is the text of a task that came as a file, with what else its sender wrote.
func WithFile(f media.File, words string) string {
	text := FileCame
	if f.Kind == media.Voice {
		text = workspace.VoicePlaceholder
	}
	return strings.TrimSpace(text + "\n" + words)
}

// inboxName is what the file of an event is called in the inbox: known before
// it is fetched, and the same in each life.
func inboxName(f media.File, event string) string { return f.FileName(event, f.Type) }

// FileAnswer is an answer that came as a file: where the file will be, behind
// the words that it came with.
func FileAnswer(f media.File, event, words string) string {
	return strings.TrimSpace(words + "\n" + path.Join(media.InboxDir, inboxName(f, event)))
}

// fileEvents are the events that the task's files may have come by, in order:
// its own, the one that it replies to, those of what was said to it, and those of
// answers.
func (t *Task) fileEvents() []string {
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

// filesIn brings a task's files into its container.
type filesIn struct {
	work *Work
	box  media.Container
}

// bring puts the task's files into the container's inbox, those that are not there. A
// file that cannot be brought is told of, and the task goes on without it. An
// error is one of the container's, of ctx, or of our own books.
func (i *filesIn) bring(ctx context.Context) error {
	w := i.work
	var keep []string
	for _, event := range w.fileEvents() {
		if slices.ContainsFunc(w.rec.Files, func(f state.File) bool { return f.Event == event }) {
			continue
		}
		room := w.env.ID
		if event == w.rec.Event {
			room = w.rec.Home
		}
		f, ok, err := w.env.Room.File(ctx, room, event)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if keep == nil {
			var err error
			if keep, err = i.kept(ctx); err != nil {
				return err
			}
		}
		brought, err := i.one(ctx, event, f, keep)
		if err != nil {
			return err
		}
		w.rec.Files = append(w.rec.Files, brought)
		keep = append(keep, path.Base(brought.Path))
		if brought.Missing == "" {
			continue
		}
		m := w.bare(state.KindFileNote, w.rec.Key+"-i"+Hash(event), brought.Missing)
		if room == w.env.ID {
			m.About = event
		}
		if err := w.env.Room.Queue(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// kept are the names of the files in the inbox that are not for a newer one
// to push out: those of the task, and of the room's tasks that wait for answers.
func (i *filesIn) kept(ctx context.Context) ([]string, error) {
	w := i.work
	waiting, err := w.env.Journal.WaitingIn(ctx, w.env.ID)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	names := baseNames(w.rec.Files)
	for _, other := range waiting {
		names = append(names, baseNames(other.Files)...)
	}
	return names, nil
}

// baseNames are the names of files in the inbox; never nil.
func baseNames(files []state.File) []string {
	names := []string{}
	for _, f := range files {
		if f.Path != "" {
			names = append(names, path.Base(f.Path))
		}
	}
	return names
}

// one fetches a file and puts it into the container; the files that keep names
// stay there.
func (i *filesIn) one(ctx context.Context, event string, f media.File, keep []string) (state.File, error) {
	w := i.work
	is := state.File{Event: event, Name: media.CleanName(f.Name), Caption: text.Cut(f.Caption, maxCaption), Voice: f.Kind == media.Voice}
	if f.Name == "" {
		is.Name = ""
	}
	done, err := w.env.carry(ctx, func() { w.shown.set("waiting for other rooms' file transfers") })
	if err != nil {
		return is, err
	}
	defer done()
	w.shown.set("fetching a file")
	defer w.shown.set("")
	var fetched *media.Fetched
	if fetched, err = w.env.Room.Fetch(ctx, f); err == nil {
		defer fetched.Close()
		is.Type, is.Size = fetched.Type, fetched.Size
		is.Path, err = media.Deliver(ctx, i.box, inboxName(f, event), fetched, keep)
	}
	switch {
	case err == nil:
		return is, nil
	case ctx.Err() != nil:
		return is, ctx.Err()
	case errors.Is(err, sandbox.ErrUnreachable):
		return is, &lostRun{err}
	}
	is.Missing = w.env.Sentence(err)
	return is, nil
}
