package recall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/memory"
)

const (
	// filesTime bounds an exchange with the files in a container.
	filesTime = 20 * time.Second
	// readFilesTime is how long daily logs are read; those that are left are read after the next task.
	readFilesTime = 4 * time.Second
)

// roomFiles is what is known of the memory files in a room's container. An agent may change them at any time.
type roomFiles struct {
	stale atomic.Bool // the index may lack what seen says
	later later
	// learning is held while the index learns a task or an edit.
	learning sync.Mutex

	mu      sync.Mutex
	seen    map[string]stamp // the files that the index has, by name
	edited  map[string]stamp // daily logs that somebody has changed
	scanned string           // what was forgotten when all files were last searched for it
	full    bool             // a file was too large for a line
}

// Container is what Sync needs of a room's container.
type Container interface {
	Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error)
	ReadFile(ctx context.Context, path string, max int64) ([]byte, error)
	WriteFile(ctx context.Context, path string, data []byte) error
}

// Sync brings the memory files in a room's container and the index in line: lines that were learned are added, what was
// forgotten is removed, and what people or the agent changed is indexed. Call it while no task runs in the container.
func (m *Memory) Sync(ctx context.Context, room string, container Container) error {
	if m == nil {
		return nil
	}
	defer m.embedSoon(room)
	ctx, cancel := context.WithTimeout(ctx, m.filesTime)
	defer cancel()
	f := m.files(room)
	f.mu.Lock()
	defer f.mu.Unlock()
	return m.use(ctx, room, m.filesTime, func(ctx context.Context, x *memory.Index) error {
		if f.later.behind() {
			return nil // it is locked: after the next task
		}
		s := sync1{Memory: m, roomFiles: f, x: x, container: container}
		return s.run(ctx)
	})
}

// sync1 is one Sync.
type sync1 struct {
	*Memory
	*roomFiles
	x         *memory.Index
	container Container
	forgotten memory.Forgotten
	main      string        // MEMORY.md, if it was read
	unwritten []memory.Line // that their file did not take
	tooLarge  string        // a file that did not for want of space
}

func (s *sync1) run(ctx context.Context) (err error) {
	if s.forgotten, err = s.x.Forgotten(ctx); err != nil {
		return err
	}
	forgotten := s.forgotten.Sum()
	found, err := s.list(ctx)
	if err != nil {
		return err
	}
	if s.stale.Swap(false) || forgotten != s.scanned {
		s.seen = nil
	}
	folded, err := s.fold(ctx, found)
	if err != nil {
		return err
	}
	lines, err := s.x.Unsettled(ctx)
	if err != nil {
		return err
	}
	byFile := map[string][]memory.Line{}
	for _, l := range lines {
		byFile[l.Path] = append(byFile[l.Path], l)
	}
	found = counted(found)
	names := slices.Sorted(maps.Keys(byFile)) // first
	for _, name := range newestFirst(found) {
		if len(byFile[name]) == 0 {
			names = append(names, name)
		}
	}
	next := map[string]stamp{}
	needed := func(name string) bool { return len(byFile[name]) > 0 || name == mainFile && len(folded) > 0 }
	names = slices.DeleteFunc(names, func(name string) bool {
		was, known := s.seen[name]
		is, there := found[name]
		same := known && there && was == is && !needed(name)
		if same {
			next[name] = is
		}
		return same
	})
	read := s.readAll(ctx, names, needed)
	var docs []memory.Document
	writes := map[string][]byte{}
	for _, name := range names {
		data, wasRead := read[name]
		if !wasRead {
			continue
		}
		doc, changed, err := s.file(ctx, name, data, byFile[name])
		if errors.Is(err, errNotAFile) {
			s.unwritten = append(s.unwritten, byFile[name]...)
			continue
		}
		if err != nil {
			return err
		}
		if changed != nil {
			writes[name] = changed
		}
		docs = append(docs, doc)
		next[name] = found[name] // of before: if the file was written, it is read once more next time
	}
	for _, name := range s.writeAll(ctx, writes) {
		s.unwritten = append(s.unwritten, byFile[name]...)
		docs = slices.DeleteFunc(docs, func(doc memory.Document) bool { return doc.Path == name })
		delete(next, name)
		if name == mainFile {
			s.main = ""
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("write memory files: %w", ctx.Err())
	}
	gone, err := s.gone(ctx, found, byFile)
	if err != nil {
		return err
	}
	if _, err := s.x.Put(ctx, append(docs, gone...)...); err != nil {
		return err
	}
	if err := s.x.Settle(ctx, slices.DeleteFunc(lines, func(l memory.Line) bool { return slices.Contains(s.unwritten, l) })); err != nil {
		return err
	}
	s.seen, s.scanned = next, forgotten
	s.noteFull()
	return s.unlink(ctx, folded)
}

// errNotAFile means that something else is in the place of a memory file.
var errNotAFile = errors.New("not a regular file")

// file brings one file in line: it returns it for the index, and as it should be written, or nil if it is right already.
func (s *sync1) file(ctx context.Context, name string, read content, lines []memory.Line) (doc memory.Document, changed []byte, err error) {
	switch {
	case errors.Is(read.err, sandbox.ErrNotFound):
		read.data = nil
	case read.err != nil && ctx.Err() == nil:
		s.log.Warn().Err(read.err).Str("room", s.x.Room()).Msg("cannot read a memory file")
		return doc, nil, errNotAFile
	case read.err != nil:
		return doc, nil, fmt.Errorf("read memory file: %w", read.err)
	}
	text := string(read.data)
	own, err := s.x.Written(ctx, name)
	if err != nil {
		return doc, nil, err
	}
	if err := s.checkEdited(ctx, name, text, own); err != nil {
		return doc, nil, err
	}
	if len(text) > maxFile { // it is read as far as it counts, and never written
		text = text[:maxFile]
		s.wait(name, lines)
	} else if merged := s.merged(name, text, lines); merged != text {
		text, changed = merged, []byte(merged)
	}
	if name == mainFile {
		s.main = text
	}
	source, _ := memory.SourceOf(name)
	doc = memory.Markdown(source, name, text)
	filtered := map[string]bool{} // what the bot wrote; the filter takes a second for 300 KB
	for _, l := range append(own, lines...) {
		filtered[item(l.Text)] = true
	}
	for i, e := range doc.Entries {
		doc.Entries[i].Speaker = s.filter.keep(e.Speaker)
		if !filtered[item(e.Text)] {
			doc.Entries[i].Text = s.filter.keep(e.Text)
		}
	}
	return doc, changed, nil
}

// maxLost is how many lines a file may lose at once, or half of them, before that counts as a rewrite of the file.
const maxLost = 3

// checkEdited finds the lines that somebody has removed from a file or changed: they are
// forgotten. If the whole file is gone, or most of it is (an agent has reworded it, perhaps because a page asked for
// that), they are written again.
func (s *sync1) checkEdited(ctx context.Context, name, text string, written []memory.Line) (err error) {
	if name != mainFile {
		return nil
	}
	there := map[string]bool{}
	for line := range strings.Lines(text) {
		there[item(line)] = true
	}
	lost := slices.DeleteFunc(slices.Clone(written), func(l memory.Line) bool { return there[item(l.Text)] })
	switch {
	case len(lost) == 0 || len(text) > maxFile:
		return nil
	case strings.TrimSpace(text) == "", len(lost) > maxLost && 2*len(lost) > len(written):
		return s.x.Rewrite(ctx, name)
	}
	for _, l := range lost {
		if err := s.x.ForgetLine(ctx, l, wish(l.Text)); err != nil {
			return err
		}
	}
	s.forgotten, err = s.x.Forgotten(ctx)
	return err
}
