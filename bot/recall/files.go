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
	"matrix-tui/workspace"
)

const (
	// filesTime bounds an exchange with the files in a container.
	filesTime = 20 * time.Second
	// maxFile is the largest memory file that is read or written, in bytes.
	maxFile = memory.MaxFiles
	// maxListed bounds the files of a room that are looked at.
	maxListed = 2000
)

// list prints name, size and time of the memory files. It follows no link and opens nothing.
const list = `cd ` + workspace.Dir + ` && find MEMORY.md context.md status.md memory -maxdepth 1 -type f -name '*.md' -printf '%s %T@ %p\n' 2>/dev/null | head -n 2000`

// roomFiles is what is known of the memory files in a room's container. An agent may change them at any time.
type roomFiles struct {
	stale atomic.Bool // the index may lack what seen says

	mu      sync.Mutex
	seen    map[string]string // size and time of the files that the index has, by name
	scanned int               // how many texts were forgotten when all files were last searched for them
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
	ctx, cancel := context.WithTimeout(ctx, filesTime)
	defer cancel()
	f := m.files(room)
	f.mu.Lock()
	defer f.mu.Unlock()
	return m.change(ctx, room, func(ctx context.Context, x *memory.Index) error {
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
}

func (s *sync1) run(ctx context.Context) error {
	lines, err := s.x.Unsettled(ctx)
	if err != nil {
		return err
	}
	if s.forgotten, err = s.x.Forgotten(ctx); err != nil {
		return err
	}
	status, err := s.x.Status(ctx)
	if err != nil {
		return err
	}
	found, err := s.list(ctx)
	if err != nil {
		return err
	}
	if s.stale.Swap(false) || status.Forgotten != s.scanned {
		s.seen = nil
	}
	byFile := map[string][]memory.Line{}
	for _, l := range lines {
		byFile[l.Path] = append(byFile[l.Path], l)
	}
	names := slices.Sorted(maps.Keys(found))
	for name := range byFile {
		if _, there := found[name]; !there {
			names = append(names, name)
		}
	}
	next := map[string]string{}
	var docs []memory.Document
	for _, name := range names {
		if s.seen[name] == found[name] && found[name] != "" && len(byFile[name]) == 0 {
			next[name] = found[name]
			continue
		}
		doc, err := s.file(ctx, name, byFile[name])
		if errors.Is(err, errNotAFile) {
			continue
		}
		if err != nil {
			return err
		}
		docs = append(docs, doc)
		next[name] = found[name] // of before: if the file was written, it is read once more next time
	}
	gone, err := s.gone(ctx, found, byFile)
	if err != nil {
		return err
	}
	if _, err := s.x.Put(ctx, append(docs, gone...)...); err != nil {
		return err
	}
	if err := s.x.Settle(ctx, lines); err != nil {
		return err
	}
	s.seen, s.scanned = next, status.Forgotten
	return nil
}

// errNotAFile means that something else is in the place of a memory file.
var errNotAFile = errors.New("not a regular file")

// file brings one file in line, and returns it for the index.
func (s *sync1) file(ctx context.Context, name string, lines []memory.Line) (doc memory.Document, err error) {
	full := workspace.Dir + "/" + name
	data, err := s.container.ReadFile(ctx, full, maxFile+1)
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		data = nil
	case err != nil && ctx.Err() == nil:
		s.log.Warn().Err(err).Str("room", s.x.Room()).Msg("cannot read a memory file")
		return doc, errNotAFile
	case err != nil:
		return doc, fmt.Errorf("read memory file: %w", err)
	}
	text := string(data)
	if err := s.edited(ctx, name, text); err != nil {
		return doc, err
	}
	if len(text) > maxFile { // it is read as far as it counts, and never written
		text = text[:maxFile]
	} else if merged := merge(name, text, lines, s.forgotten.Text); merged != text {
		if err := s.container.WriteFile(ctx, full, []byte(merged)); err != nil {
			if ctx.Err() != nil {
				return doc, fmt.Errorf("write memory file: %w", err)
			}
			s.log.Warn().Err(err).Str("room", s.x.Room()).Msg("cannot write a memory file")
			return doc, errNotAFile
		}
		text = merged
	}
	source, _ := memory.SourceOf(name)
	doc = memory.Markdown(source, name, text)
	for i := range doc.Entries {
		doc.Entries[i].Text = s.filter.keep(doc.Entries[i].Text)
	}
	return doc, nil
}

// edited finds the lines that somebody has removed from a file or changed: they are
// forgotten. If the whole file is gone, they are written again.
func (s *sync1) edited(ctx context.Context, name, text string) error {
	if name != mainFile {
		return nil
	}
	written, err := s.x.Written(ctx, name)
	if err != nil {
		return err
	}
	lost := slices.DeleteFunc(slices.Clone(written), func(l memory.Line) bool { return has(text, l.Text) })
	switch {
	case len(lost) == 0 || len(text) > maxFile:
		return nil
	case strings.TrimSpace(text) == "":
		return s.x.Rewrite(ctx, name)
	}
	for _, l := range lost {
		if err := s.x.ForgetLine(ctx, l); err != nil {
			return err
		}
	}
	s.forgotten, err = s.x.Forgotten(ctx)
	return err
}

// list returns size and time of the files that are there, by name.
func (s *sync1) list(ctx context.Context) (map[string]string, error) {
	res, err := s.container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", list}, MaxOutput: 256 << 10})
	if err != nil {
		return nil, fmt.Errorf("list memory files: %w", err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(res.Stdout)) {
		size, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, name, _ := strings.Cut(rest, " ")
		if _, ok := memory.SourceOf(name); ok && len(found) < maxListed {
			found[name] = size + " " + at
		}
	}
	return found, nil
}

// gone returns empty documents for the files that are no longer there.
func (s *sync1) gone(ctx context.Context, found map[string]string, written map[string][]memory.Line) (docs []memory.Document, err error) {
	for _, source := range []memory.Source{memory.SourceMemory, memory.SourceContext, memory.SourceStatus, memory.SourceLog} {
		paths, err := s.x.Paths(ctx, source)
		if err != nil {
			return nil, err
		}
		for path := range paths {
			if _, there := found[path]; !there && len(written[path]) == 0 {
				docs = append(docs, memory.Document{Source: source, Path: path})
			}
		}
	}
	return docs, nil
}
