package bot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/media"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

const (
	// carriers is how many tasks carry files at once, over all rooms.
	carriers = 2
	// carryPatience is how long a homeserver that is away is waited for, with one
	// file.
	carryPatience = 2 * time.Minute
	// maxCaption bounds what the record keeps of a file's caption, in bytes.
	maxCaption = 1000
	// fileCame stands for the words that a file came without.
	fileCame = "A file came."
)

// tmp is the folder of what is on its way between a room and a box.
func (b *Bot) tmp() string { return filepath.Join(b.StateDir, "tmp") }

// emptyTmp makes the folder anew: what a former life left there is in the clear.
func (b *Bot) emptyTmp() error {
	if err := os.RemoveAll(b.tmp()); err != nil {
		return fmt.Errorf("empty folder of temporary files: %w", err)
	}
	if err := os.MkdirAll(b.tmp(), 0o700); err != nil {
		return fmt.Errorf("make folder of temporary files: %w", err)
	}
	return nil
}

// broughtFile is a file that came with a task, as the task's record keeps it.
type broughtFile struct {
	Event   string `json:"event"`
	Path    string `json:"path,omitempty"` // in the box
	Type    string `json:"type,omitempty"`
	Name    string `json:"name,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Caption string `json:"caption,omitempty"`
	Voice   bool   `json:"voice,omitempty"`
	Missing string `json:"missing,omitempty"` // why it is not in the box; then it has no path
}

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
	events := []string{t.row.Event}
	if about := repliesTo(t.row); about != "" {
		events = append(events, about)
	}
	for _, said := range t.rec.Steer {
		if said.File {
			events = append(events, said.Event)
		}
	}
	for _, a := range t.rec.Execution.Answers {
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
	return m.RelatesTo.InReplyTo.EventID
}

// bring puts the task's files into the box's inbox, those that are not there. A
// file that cannot be brought is told of, and the task goes on without it. An
// error is one of the box's, of ctx, or of our own books.
func (t *task) bring(ctx context.Context, box media.Box) error {
	for _, event := range t.fileEvents() {
		if slices.ContainsFunc(t.rec.Files, func(f broughtFile) bool { return f.Event == event }) {
			continue
		}
		row := t.row
		if event != t.row.Event {
			var err error
			if row, err = t.bot.Journal.Event(ctx, t.id, event); errors.Is(err, state.ErrNotFound) {
				continue
			} else if err != nil {
				return fmt.Errorf("look up a file's message: %w", err)
			}
		}
		f, ok := fileOf(row)
		if !ok {
			continue
		}
		brought, err := t.bringOne(ctx, box, event, f)
		if err != nil {
			return err
		}
		t.rec.Files = append(t.rec.Files, brought)
		if brought.Missing == "" {
			continue
		}
		n := notice(brought.Missing)
		n.RelatesTo = replyTo(event)
		if err := t.queue(ctx, t.room.out(t.key+"-i"+hash(event), t.row.Event, n)); err != nil {
			return err
		}
	}
	return nil
}

// bringOne fetches a file and puts it into the box.
func (t *task) bringOne(ctx context.Context, box media.Box, event string, f media.File) (broughtFile, error) {
	is := broughtFile{Event: event, Name: media.CleanName(f.Name), Caption: cut(f.Caption, maxCaption), Voice: f.Kind == media.Voice}
	if f.Name == "" {
		is.Name = ""
	}
	if err := t.bot.carrying.Acquire(ctx, 1); err != nil {
		return is, err
	}
	defer t.bot.carrying.Release(1)
	t.shown.set("fetching a file")
	defer t.shown.set("")
	var fetched *media.Fetched
	err := patiently(ctx, func() (err error) {
		fetched, err = media.Fetch(ctx, media.From(t.bot.client), f, t.bot.tmp(), t.bot.MediaMax)
		return err
	})
	if err == nil {
		defer fetched.Close()
		is.Type, is.Size = fetched.Type, fetched.Size
		is.Path, err = media.Deliver(ctx, box, inboxName(f, event), fetched)
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

// patiently does something with the homeserver, again while that is away. Each
// try has its own time.
func patiently(ctx context.Context, do func() error) error {
	until := time.Now().Add(carryPatience)
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := do()
		if err == nil || !transient(err) || time.Now().After(until) {
			return err
		}
		if err := sleep(ctx, retryAfter(err, wait)); err != nil {
			return err
		}
	}
}

// promptFiles are the files that the agent is to hear of; with resumed, those
// that its session was not told of.
func (t *task) promptFiles(resumed bool) []workspace.File {
	fresh := map[string]bool{}
	answers := t.rec.Execution.Answers
	if len(answers) > 0 {
		fresh[answers[len(answers)-1].Event] = true
	}
	for i, said := range t.rec.Steer {
		fresh[said.Event] = fresh[said.Event] || i >= t.rec.Told
	}
	fresh[t.row.Event] = len(answers) == 0 && t.rec.Told == 0
	if about := repliesTo(t.row); about != "" {
		fresh[about] = fresh[t.row.Event]
	}
	var files []workspace.File
	for _, f := range t.rec.Files {
		if resumed && !fresh[f.Event] {
			continue
		}
		files = append(files, workspace.File{
			Path: f.Path, Type: f.Type, Name: f.Name, Size: f.Size, Caption: f.Caption, Voice: f.Voice, Missing: f.Missing,
		})
	}
	return files
}
