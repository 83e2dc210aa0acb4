package bot

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

const (
	// maxCaption bounds what the record keeps of a file's caption, in bytes.
	maxCaption = 1000
	// fileCame stands for the words that a file came without.
	fileCame = "A file came."
)

// fileOf is the file that a row carries.
func fileOf(row state.Inbound) (media.File, bool) {
	e, _ := parseEvent(row.Raw)
	m, ok := e.message()
	if !ok || m.RelatesTo.RelType == "m.replace" {
		return media.File{}, false
	}
	return media.Describe(e.Content, e.Type)
}

// fileTask is a task that came as a file, with what else its sender wrote.
func fileTask(f media.File, words string) string {
	text := fileCame
	if f.Kind == media.Voice {
		text = workspace.VoicePlaceholder
	}
	return strings.TrimSpace(text + "\n" + words)
}

// inboxName is what the file of an event is called in the inbox: known before
// it is fetched, and the same in each life.
func inboxName(f media.File, event string) string { return f.FileName(event, f.Type) }

// fileAnswer is an answer that came as a file: where the file will be, behind
// the words that it came with.
func fileAnswer(f media.File, event, words string) string {
	return strings.TrimSpace(words + "\n" + path.Join(media.InboxDir, inboxName(f, event)))
}

// fileEvents are the events that the task's files may have come by, in order:
// its own, the one that it replies to, those of what was said to it, and those of
// answers.
func (t *task) fileEvents() []string {
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

// repliesTo is the event that a row replies to, "" for none.
func repliesTo(row state.Inbound) string {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	if m.RelatesTo.Fallback { // in a thread, for old clients
		return ""
	}
	return m.RelatesTo.InReplyTo
}

// bring puts the task's files into the box's inbox, those that are not there. A
// file that cannot be brought is told of, and the task goes on without it. An
// error is one of the box's, of ctx, or of our own books.
func (t *task) bring(ctx context.Context, box media.Container) error {
	var keep []string
	for _, event := range t.fileEvents() {
		if slices.ContainsFunc(t.rec.Files, func(f state.File) bool { return f.Event == event }) {
			continue
		}
		room := t.id
		if event == t.rec.Event {
			room = t.rec.Home
		}
		row, err := t.bot.Journal.Event(ctx, room, event)
		if errors.Is(err, state.ErrNotFound) {
			continue
		} else if err != nil {
			return fmt.Errorf("look up a file's message: %w", err)
		}
		f, ok := fileOf(row)
		if !ok {
			continue
		}
		if keep == nil {
			var err error
			if keep, err = t.inboxKept(ctx); err != nil {
				return err
			}
		}
		brought, err := t.bringOne(ctx, box, event, f, keep)
		if err != nil {
			return err
		}
		t.rec.Files = append(t.rec.Files, brought)
		keep = append(keep, path.Base(brought.Path))
		if brought.Missing == "" {
			continue
		}
		n := notice(brought.Missing)
		if row.Room == t.id {
			n.RelatesTo = replyTo(event)
		}
		if err := t.queue(ctx, t.out(state.KindFileNote, 0, t.rec.Key+"-i"+hash(event), n)); err != nil {
			return err
		}
	}
	return nil
}

// inboxKept are the names of the files in the inbox that are not for a newer one
// to push out: those of the task, and of the room's tasks that wait for answers.
func (t *task) inboxKept(ctx context.Context) ([]string, error) {
	waiting, err := t.bot.Journal.WaitingIn(ctx, t.id)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	names := baseNames(t.rec.Files)
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

// bringOne fetches a file and puts it into the box; the files that keep names
// stay there.
func (t *task) bringOne(ctx context.Context, box media.Container, event string, f media.File, keep []string) (state.File, error) {
	is := state.File{Event: event, Name: media.CleanName(f.Name), Caption: text.Cut(f.Caption, maxCaption), Voice: f.Kind == media.Voice}
	if f.Name == "" {
		is.Name = ""
	}
	done, err := t.bot.carry(ctx, func() { t.shown.set("waiting for other rooms' files to be through") })
	if err != nil {
		return is, err
	}
	defer done()
	t.shown.set("fetching a file")
	defer t.shown.set("")
	var fetched *media.Fetched
	err = patiently(ctx, func() (err error) {
		fetched, err = media.Fetch(ctx, t.bot.account.Download, f, t.bot.tmp(), t.bot.MediaMax)
		return err
	})
	if err == nil {
		defer fetched.Close()
		is.Type, is.Size = fetched.Type, fetched.Size
		is.Path, err = media.Deliver(ctx, box, inboxName(f, event), fetched, keep)
	}
	switch {
	case err == nil:
		return is, nil
	case ctx.Err() != nil:
		return is, ctx.Err()
	case errors.Is(err, sandbox.ErrUnreachable):
		return is, &lostRun{err}
	}
	is.Missing = t.bot.sentence(err)
	return is, nil
}

// promptFiles are the files that the agent is to hear of; with resumed, those
// that its session was not told of.
func (t *task) promptFiles(resumed bool) []workspace.File {
	fresh := map[string]bool{}
	answers := t.exec.Answers
	if len(answers) > 0 {
		fresh[answers[len(answers)-1].Event] = true
	}
	for i, said := range t.rec.Said {
		fresh[said.Event] = fresh[said.Event] || i >= t.rec.Told
	}
	fresh[t.rec.Event] = len(answers) == 0 && t.rec.Told == 0
	if t.rec.ReplyTo != "" {
		fresh[t.rec.ReplyTo] = fresh[t.rec.Event]
	}
	edited := func(event string) bool { // its words are told already, as they are now
		return event == t.rec.Event && t.rec.Edited ||
			slices.ContainsFunc(t.rec.Said, func(s state.Said) bool { return s.Event == event && s.Edited })
	}
	var files []workspace.File
	for _, f := range t.rec.Files {
		if resumed && !fresh[f.Event] {
			continue
		}
		if edited(f.Event) {
			f.Caption = ""
		}
		files = append(files, workspace.File{
			Path: f.Path, Type: f.Type, Name: f.Name, Size: f.Size, Caption: f.Caption, Voice: f.Voice, Missing: f.Missing,
		})
	}
	return files
}
