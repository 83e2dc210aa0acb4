package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/memory"
	"matrix-tui/workspace"
)

const (
	// filesTime bounds an exchange with the files in a container.
	filesTime = 20 * time.Second
	// maxFile is the largest file that is read, in bytes. The bot adds nothing to MEMORY.md beyond half of it, or to a daily
	// log beyond an eighth.
	maxFile = 1 << 20
	// maxLogs and maxLogBytes bound the daily logs: the oldest of the bot's are removed. The record has what they said.
	maxLogs, maxLogBytes = 400, maxFile / 2
)

// Container is what Sync needs of a room's container.
type Container interface {
	Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error)
	ReadFile(ctx context.Context, path string, max int64) ([]byte, error)
	WriteFile(ctx context.Context, path string, data []byte) error
}

// exchange is one Sync.
type exchange struct {
	*Memory
	id        string
	container Container
	notes     map[string][]state.Note // by file
	forgotten state.Forgotten
	scrub     *state.Scrub // of lines, or nil

	docs          []memory.Document // for the index, of files that are not made of notes
	added, gone   []state.Note
	shown, hidden []string // notes that their files have now, or no longer
	full          bool
}

// Sync brings the memory files in a room's container and the record in line. Notes are written to their files, and what was
// forgotten is removed from them. What people or the agent have added to them becomes notes, and notes whose lines they have
// removed are forgotten. Other files of notes are indexed. scrub also changes lines, if it is not nil. Call Sync while no
// task runs in the container.
func (m *Memory) Sync(ctx context.Context, id string, container Container, scrub *state.Scrub) error {
	if m == nil {
		return nil
	}
	defer m.embedSoon(id)
	ctx, cancel := context.WithTimeout(ctx, filesTime)
	defer cancel()
	r := m.room(id)
	r.syncing.Lock()
	defer r.syncing.Unlock()
	e := exchange{Memory: m, id: id, container: container, scrub: scrub, notes: map[string][]state.Note{}}
	notes, err := m.journal.Memory.Notes(ctx, id)
	if err != nil {
		return err
	}
	for _, n := range slices.Backward(notes) { // the oldest first
		e.notes[n.File] = append(e.notes[n.File], n)
	}
	if e.forgotten, err = m.journal.Memory.Forgotten(ctx, id); err != nil {
		return err
	}
	found, err := e.list(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	seen := r.files
	r.mu.Unlock()
	if err := e.each(ctx, found, seen); err != nil {
		return err
	}
	if err := e.apply(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	r.files = found
	r.mu.Unlock()
	return e.rotate(ctx, found)
}

// each brings every file in line that somebody has changed or that lacks a note.
func (e *exchange) each(ctx context.Context, found, seen map[string]stamp) error {
	names := slices.Collect(maps.Keys(found))
	var prior []state.Note
	for name, notes := range e.notes {
		lacks := slices.DeleteFunc(slices.Clone(notes), func(n state.Note) bool { return n.Written })
		if _, there := found[name]; !there && (len(lacks) > 0 || name == mainFile) {
			names = append(names, name)
		}
		if len(lacks) > 0 {
			delete(seen, name)
		}
		if name != mainFile {
			prior = append(prior, lacks...)
		}
	}
	if prior = slices.DeleteFunc(prior, func(n state.Note) bool { return n.Salience < didSomething }); len(prior) > 0 {
		delete(seen, contextFile)
		if _, there := found[contextFile]; !there {
			names = append(names, contextFile)
		}
	}
	slices.SortFunc(names, func(a, b string) int { // context.md last: the logs may have new tasks
		return cmp.Compare(strings.Replace(a, contextFile, "~", 1), strings.Replace(b, contextFile, "~", 1))
	})
	for _, name := range names {
		if was, known := seen[name]; known && e.scrub == nil && len(e.forgotten) == was.forgotten && was.same(found[name]) {
			continue
		}
		text, err := e.read(ctx, name)
		if err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("read memory file: %w", ctx.Err())
			}
			e.log.Warn().Err(err).Str("room", e.id).Msg("cannot read a memory file")
			continue
		}
		out := e.strip(name, text)
		switch {
		case name == mainFile || dayOf(name) != "":
			out = e.merge(name, out)
		case name == contextFile:
			out = addPrior(withoutPrior(out, e.remaining()), prior)
		}
		if source, _ := memory.SourceOf(name); name != mainFile && dayOf(name) == "" {
			e.docs = append(e.docs, e.document(source, name, out))
		}
		if out != text {
			if err := e.container.WriteFile(ctx, workspace.Dir+"/"+name, []byte(out)); err != nil {
				return fmt.Errorf("write memory file: %w", err)
			}
			delete(found, name) // it is read once more next time
		}
	}
	return nil
}

// read reads a file; one that is missing is empty. It returns an error for one that is too large.
func (e *exchange) read(ctx context.Context, name string) (string, error) {
	data, err := e.container.ReadFile(ctx, workspace.Dir+"/"+name, maxFile+1)
	if errors.Is(err, sandbox.ErrNotFound) {
		return "", nil
	}
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return string(data), err
}

// apply stores what the files have changed. It may be repeated: a note is gone after what it says.
func (e *exchange) apply(ctx context.Context) error {
	alive := e.alive()
	for _, n := range e.gone {
		if err := e.forgetNote(ctx, n, alive); err != nil {
			return err
		}
	}
	if err := e.journal.Memory.RemoveNotes(ctx, e.gone...); err != nil {
		return err
	}
	added, err := e.journal.Memory.AddNotes(ctx, e.added...)
	if err != nil {
		return err
	}
	if err := errors.Join(e.journal.Memory.SetWritten(ctx, e.id, true, e.shown...), e.journal.Memory.SetWritten(ctx, e.id, false, e.hidden...)); err != nil {
		return err
	}
	docs := append(e.docs, documents(added)...)
	for _, doc := range documents(e.gone) {
		doc.Entries = nil
		docs = append(docs, doc)
	}
	return e.use(ctx, e.id, filesTime, func(ctx context.Context, x *memory.Index) error { return e.put(ctx, x, docs...) })
}

// remaining returns the notes that stay or that have come.
func (e *exchange) remaining() []state.Note {
	all := slices.Concat(append(slices.Collect(maps.Values(e.notes)), e.added)...)
	return slices.DeleteFunc(all, func(n state.Note) bool {
		return slices.ContainsFunc(e.gone, func(gone state.Note) bool { return gone.ID == n.ID && n.ID != "" })
	})
}

// alive reports whether a note that stays or that has come still has a text, as when somebody has added to a line.
func (e *exchange) alive() func(text string) bool {
	var all []string
	for _, n := range e.remaining() {
		if n.Kind != state.Episodic { // a log only tells when it was said
			all = append(all, state.Plain(n.Text), state.Plain(n.Quote))
		}
	}
	return func(text string) bool {
		text = state.Plain(text)
		return slices.ContainsFunc(all, func(one string) bool { return strings.Contains(one, text) })
	}
}

// forgetNote removes what a note says from the history, which the next session is given, the index and the record, unless it
// lives on in another note.
func (e *exchange) forgetNote(ctx context.Context, n state.Note, alive func(string) bool) error {
	texts := []string{n.Text}
	if len(n.Quote) >= leastHashed {
		texts = append(texts, n.Quote)
	}
	if texts = slices.DeleteFunc(texts, alive); len(texts) == 0 {
		return nil
	}
	if err := e.journal.Memory.KeepForgotten(ctx, e.id, texts...); err != nil {
		return err
	}
	scrub := state.Replacing(state.Deleted, texts...)
	if _, err := e.Memory.store.Conversations.Scrub(ctx, e.id, scrub); err != nil {
		return err
	}
	if _, err := e.Forget(ctx, e.id, nil, texts); err != nil {
		return err
	}
	_, err := e.journal.Removal.Scrub(ctx, e.id, e.id, scrub)
	return err
}

// document is a file for the index.
func (e *exchange) document(source memory.Source, name, text string) memory.Document {
	if name == contextFile {
		text = withoutPrior(text, nil) // the index has the tasks
	}
	doc := memory.Markdown(source, name, text)
	for i, entry := range doc.Entries {
		doc.Entries[i].Speaker, doc.Entries[i].Text = e.filter.keep(entry.Speaker), e.filter.keep(entry.Text)
	}
	return doc
}

// list prints size, time and name of the memory files. It follows no link and opens nothing.
const list = `cd ` + workspace.Dir + ` && find MEMORY.md context.md status.md memory -maxdepth 1 -type f -name '*.md' -printf '%s %T@ %p\n' 2>/dev/null | head -n 2000`

// stamp changes with a file, and with what it must not have.
type stamp struct {
	size      int64
	at        string // when it was changed
	forgotten int
}

func (s stamp) same(other stamp) bool { return s.size == other.size && s.at == other.at }

// list returns the files that are there, by name.
func (e *exchange) list(ctx context.Context) (map[string]stamp, error) {
	res, err := e.container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", list}, MaxOutput: 256 << 10})
	if err != nil {
		return nil, fmt.Errorf("list memory files: %w", err)
	}
	found := map[string]stamp{}
	for line := range strings.Lines(string(res.Stdout)) {
		digits, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, name, _ := strings.Cut(rest, " ")
		size, err := strconv.ParseInt(digits, 10, 64)
		if _, ok := memory.SourceOf(name); ok && err == nil {
			found[name] = stamp{size, at, len(e.forgotten)}
		}
	}
	return found, nil
}

// rotate removes the oldest daily logs when they take too much.
func (e *exchange) rotate(ctx context.Context, found map[string]stamp) error {
	var logs []string
	for name := range found {
		if dayOf(name) != "" {
			logs = append(logs, name)
		}
	}
	slices.Sort(logs)
	slices.Reverse(logs)
	total, rm := int64(0), []string{"rm", "-f", "--"}
	for i, name := range logs {
		if total += found[name].size; i > 0 && (i >= maxLogs || total > maxLogBytes) {
			rm = append(rm, workspace.Dir+"/"+name)
		}
	}
	if len(rm) == 3 {
		return nil
	}
	_, err := e.container.Exec(ctx, sandbox.Cmd{Argv: rm})
	return err
}
