package recall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"matrix-tui/sandbox"
	"matrix-tui/state/memory"
	"matrix-tui/workspace"
)

const (
	// maxFile is how much of MEMORY.md and the daily logs together is read and kept, in bytes.
	maxFile = memory.MaxFiles
	// maxMain is the share of MEMORY.md, maxLog that of a day: beyond it, the bot adds nothing.
	maxMain = maxFile / 2
	maxLog  = maxFile / 8
	// maxLogs bounds the daily logs.
	maxLogs = 400
	// maxListed bounds the files of a room that are looked at.
	maxListed = 2000
)

// list prints size, time and name of the memory files. It follows no link and opens nothing.
const list = `cd ` + workspace.Dir + ` && find MEMORY.md context.md status.md memory -maxdepth 1 -type f -name '*.md' -printf '%s %T@ %p\n' 2>/dev/null | head -n 2000`

// stamp changes with a file.
type stamp struct {
	size int64
	at   string // when it was changed
}

// list returns the files that are there, by name.
func (s *sync1) list(ctx context.Context) (map[string]stamp, error) {
	res, err := s.container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", list}, MaxOutput: 256 << 10})
	if err != nil {
		return nil, fmt.Errorf("list memory files: %w", err)
	}
	found := map[string]stamp{}
	for line := range strings.Lines(string(res.Stdout)) {
		digits, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, name, _ := strings.Cut(rest, " ")
		size, err := strconv.ParseInt(digits, 10, 64)
		if source, ok := memory.SourceOf(name); ok && err == nil && len(found) < maxListed && (size > 0 || source != memory.SourceLog) {
			found[name] = stamp{size, at}
		}
	}
	return found, nil
}

// content is what a file has, or why that is unknown.
type content struct {
	data []byte
	err  error
}

// readAll reads files, a few at a time, because each takes as long as a process. Logs that are not needed have to wait for
// the next time if there are too many.
func (s *sync1) readAll(ctx context.Context, names []string, needed func(string) bool) map[string]content {
	var (
		mu    sync.Mutex
		some  errgroup.Group
		began = time.Now()
		out   = map[string]content{}
	)
	some.SetLimit(atOnce)
	for _, name := range names {
		some.Go(func() error {
			if source, _ := memory.SourceOf(name); source == memory.SourceLog && !needed(name) && time.Since(began) > s.readFilesTime {
				return nil
			}
			data, err := s.container.ReadFile(ctx, workspace.Dir+"/"+name, maxFile+1)
			mu.Lock()
			defer mu.Unlock()
			out[name] = content{data, err}
			return nil
		})
	}
	_ = some.Wait() // the errors are in the map
	return out
}

// atOnce is how many files are read or written at once.
const atOnce = 2

// writeAll writes files, and returns the names of those that could not be written.
func (s *sync1) writeAll(ctx context.Context, files map[string][]byte) (failed []string) {
	var (
		mu   sync.Mutex
		some errgroup.Group
	)
	some.SetLimit(atOnce)
	for name, data := range files {
		some.Go(func() error {
			err := s.container.WriteFile(ctx, workspace.Dir+"/"+name, data)
			if err == nil {
				return nil
			}
			if ctx.Err() == nil {
				s.log.Warn().Err(err).Str("room", s.x.Room()).Msg("cannot write a memory file")
			}
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, name)
			return nil
		})
	}
	_ = some.Wait() // the failures are in the list
	return failed
}

// counted leaves out the logs that are too much: those of other names first, then the oldest.
func counted(found map[string]stamp) map[string]stamp {
	left, logs := maxFile-min(found[mainFile].size, maxFile), 0
	out := map[string]stamp{}
	for _, name := range newestFirst(found) {
		if source, _ := memory.SourceOf(name); source != memory.SourceLog {
			out[name] = found[name]
			continue
		}
		if size := found[name].size; size <= left && logs < maxLogs {
			left -= size
			logs++
			out[name] = found[name]
		}
	}
	return out
}

// newestFirst lists the main files, daily logs by their day, and then other logs.
func newestFirst(found map[string]stamp) []string {
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		inA, inB := strings.Contains(a, "/"), strings.Contains(b, "/")
		switch {
		case inA != inB && inB:
			return -1
		case inA != inB:
			return 1
		}
		return cmp.Or(cmp.Compare(dayOf(b), dayOf(a)), cmp.Compare(a, b))
	})
}

// gone returns empty documents for the files that are no longer there.
func (s *sync1) gone(ctx context.Context, found map[string]stamp, written map[string][]memory.Line) (docs []memory.Document, err error) {
	paths, err := s.x.Files(ctx, memory.SourceMemory, memory.SourceContext, memory.SourceStatus, memory.SourceLog)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if _, there := found[path]; !there && len(written[path]) == 0 {
			source, _ := memory.SourceOf(path)
			docs = append(docs, memory.Document{Source: source, Path: path})
		}
	}
	return docs, nil
}
