package recall

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/state/scrub"
	"matrix-tui/workspace"
)

const (
	// filesTime bounds an exchange with the files in a container.
	filesTime = 20 * time.Second
	// maxFile is the largest file that is read, in bytes; larger ones are left alone. The bot adds nothing to MEMORY.md
	// beyond half of it, or to a daily log beyond an eighth.
	maxFile = 1 << 20
	// maxLogs and maxLogBytes bound the daily logs: the oldest of the bot's are removed. The record has what they said.
	maxLogs, maxLogBytes = 400, maxFile / 2
)

// Container is what Sync needs of a room's container.
type Container interface {
	Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error)
	WriteFile(ctx context.Context, path string, data []byte) error
}

// exchange is one Sync.
type exchange struct {
	*Memory
	id        string
	notes     map[string][]state.Note // by file, the oldest first
	forgotten state.Forgotten
	scrub     *scrub.Scrub // of lines, or nil
	forget    Forget
	removed   int // lines

	added, gone []state.Note
	shown       []string // notes that their files have now
}

// Forget takes what somebody has removed from a file out of all that is kept of the room. It may be repeated.
type Forget func(ctx context.Context, change *scrub.Scrub) error

// Sync brings the memory files in a room's container and the record in line. Notes are written to their files, and what
// was forgotten is removed from them: Sync returns how many lines. What people or the agent have added to them becomes
// notes, and notes whose lines they have removed are forgotten: forget takes what they say from where it was said.
// scrub also removes lines, if it is not nil. Call Sync while no task runs in the container.
func (m *Memory) Sync(ctx context.Context, id string, container Container, scrub *scrub.Scrub,
	forget Forget) (removed int, err error) {
	if m == nil {
		return 0, nil
	}
	defer m.embedSoon(id)
	ctx, cancel := context.WithTimeout(ctx, filesTime)
	defer cancel()
	r := m.room(id)
	r.syncing.Lock()
	defer r.syncing.Unlock()
	e := exchange{Memory: m, id: id, scrub: scrub, forget: forget, notes: map[string][]state.Note{}}
	notes, err := m.journal.Memory.Notes(ctx, id)
	if err != nil {
		return 0, err
	}
	for _, n := range slices.Backward(notes) {
		e.notes[n.File] = append(e.notes[n.File], n)
	}
	if e.forgotten, err = m.journal.Memory.Forgotten(ctx, id); err != nil {
		return 0, err
	}
	files, left, err := readFiles(ctx, container)
	if err != nil {
		return 0, err
	}
	for name, now := range e.merged(files, left) {
		if now == files[name] {
			continue
		}
		if err := container.WriteFile(ctx, workspace.Dir+"/"+name, []byte(now)); err != nil {
			return e.removed, fmt.Errorf("write memory file: %w", err)
		}
	}
	if err := e.apply(ctx); err != nil {
		return e.removed, err
	}
	if err := rotate(ctx, container, files); err != nil {
		return e.removed, err
	}
	if len(left) > 0 {
		m.log.Warn().Str("room", id).Strs("files", slices.Sorted(maps.Keys(left))).Err(ErrLarge).
			Msg("some memory files stay as they are")
		return e.removed, ErrLarge
	}
	return e.removed, nil
}

// ErrLarge means that Sync has left some files alone, because they are too large, each or together. It has done
// everything else.
var ErrLarge = errors.New("memory files are too large")

// merged returns the files as they are to be, without those to leave alone, and finds out what has changed in them.
func (e *exchange) merged(files map[string]string, leave map[string]bool) map[string]string {
	out := map[string]string{mainFile: ""}
	for name, notes := range e.notes {
		if dayOf(name) != "" && slices.ContainsFunc(notes, func(n state.Note) bool { return !n.Written }) {
			out[name] = ""
		}
	}
	maps.Copy(out, files)
	maps.DeleteFunc(out, func(name, _ string) bool { return leave[name] })
	for name, text := range out {
		if out[name] = e.strip(name, text); dayOf(name) != "" || name == mainFile {
			out[name] = e.merge(name, out[name])
		}
	}
	if !leave[contextFile] { // last: the logs may have new tasks
		if text := withPrior(out[contextFile], e.remaining()); text != "" {
			out[contextFile] = text
		}
	}
	return out
}

// apply stores what the files have changed. It may be repeated: a note is gone after what it says.
func (e *exchange) apply(ctx context.Context) error {
	if len(e.gone) > 0 {
		if err := e.forgetGone(ctx); err != nil {
			return err
		}
	}
	added, err := e.journal.Memory.AddNotes(ctx, e.added...)
	if err != nil {
		return err
	}
	if err := e.journal.Memory.SetWritten(ctx, e.id, e.shown...); err != nil {
		return err
	}
	if len(added) == 0 {
		return nil
	}
	return e.update(ctx, e.id, func(x *memory.Index) error { return e.put(ctx, x, documents(added)...) })
}

// remaining returns the notes that stay or that have come.
func (e *exchange) remaining() []state.Note {
	all := slices.Concat(append(slices.Collect(maps.Values(e.notes)), e.added)...)
	return slices.DeleteFunc(all, func(n state.Note) bool {
		return slices.ContainsFunc(e.gone, func(gone state.Note) bool { return gone.ID == n.ID && n.ID != "" })
	})
}

// forgetGone removes the notes that are gone, and what they say from wherever it was said, unless it lives on in
// another note, as when somebody has added to a line.
func (e *exchange) forgetGone(ctx context.Context) error {
	alive := ""
	for _, n := range e.remaining() {
		if n.Kind != state.Episodic { // a log only tells when it was said
			alive += scrub.Plain(n.Text) + "\n" + scrub.Plain(n.Quote) + "\n"
		}
	}
	var texts []string
	for _, n := range e.gone {
		for _, text := range quoted(n) {
			if !strings.Contains(alive, scrub.Plain(text)) {
				texts = append(texts, text)
			}
		}
	}
	if err := e.journal.Memory.KeepForgotten(ctx, e.id, texts...); err != nil {
		return err
	}
	if err := e.forget(ctx, scrub.Replacing(scrub.Deleted, texts...)); err != nil {
		return err
	}
	return errors.Join(e.Doubt(ctx, e.id), e.journal.Memory.RemoveNotes(ctx, e.gone...), e.Settle(ctx, e.id))
}

// pack prints the memory files as an archive, the newest logs first, up to maxFile each and 6 MB together. It follows
// no link. On stderr are the names of those that it leaves out.
const pack = `cd ` + workspace.Dir + ` || exit 3
{ find MEMORY.md context.md status.md -maxdepth 0 -type f -printf '%s %p\n'
find memory -maxdepth 1 -type f -name '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md' -printf '%s %p\n' | sort -rk2
} 2>/dev/null | awk '$1 > 1048576 || (all += $1 + 1024) > 6000000 { print $2 > "/dev/stderr"; next } { print $2 }
END { print "end" > "/dev/stderr" }' |
tar -cf - -T - 2>/dev/null`

// maxPacked is more than pack prints, in bytes.
const maxPacked = 8 << 20

// readFiles returns the files that are there by name, and which others there are.
func readFiles(ctx context.Context, container Container) (files map[string]string, left map[string]bool, err error) {
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", pack}, MaxOutput: maxPacked})
	switch {
	case err == nil && res.Truncated:
		err = fmt.Errorf("they have more than %d bytes", maxPacked)
	case err == nil && res.Code > 1: // 1: somebody has written to a file meanwhile
		err = fmt.Errorf("exit %d: %s", res.Code, clean.Line(string(res.Stderr), 200))
	case err == nil && (!bytes.HasSuffix(res.Stdout, make([]byte, 1024)) || !bytes.HasSuffix(res.Stderr, []byte("end\n"))):
		err = errors.New("the archive has no end")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read memory files: %w", err)
	}
	files, left = map[string]string{}, map[string]bool{}
	for name := range strings.Lines(strings.TrimSuffix(string(res.Stderr), "end\n")) {
		left[strings.TrimSpace(name)] = true
	}
	for in := tar.NewReader(bytes.NewReader(res.Stdout)); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, left, nil
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(in)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read memory files: %w", err)
		}
		if name := head.Name; head.Typeflag == tar.TypeReg &&
			(name == mainFile || name == contextFile || name == statusFile || dayOf(name) != "") {
			files[name] = string(data)
		}
	}
}

// rotate removes the oldest daily logs when they take too much.
func rotate(ctx context.Context, container Container, files map[string]string) error {
	logs := slices.DeleteFunc(slices.Collect(maps.Keys(files)), func(name string) bool { return dayOf(name) == "" })
	slices.SortFunc(logs, func(a, b string) int { return cmp.Compare(b, a) })
	total, rm := 0, []string{"rm", "-f", "--"}
	for i, name := range logs {
		if total += len(files[name]); i > 0 && (i >= maxLogs || total > maxLogBytes) {
			rm = append(rm, workspace.Dir+"/"+name)
		}
	}
	if len(rm) == 3 {
		return nil
	}
	_, err := container.Exec(ctx, sandbox.Cmd{Argv: rm})
	return err
}
