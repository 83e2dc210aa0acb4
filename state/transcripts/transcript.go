// Package transcripts keeps what happened in each room in files that only grow, for people and for the memory.
package transcripts

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/crash"
	"matrix-tui/state/disk"
	"matrix-tui/state/roomname"
)

// Max is the size at which a transcript is moved to .1, in bytes; an older .1 is replaced. So a room's
// transcripts take at most twice that.
const Max = 32 << 20

// searched is how far back Begin and End look for the line that they are about
// to write, in bytes: after a crash it is among the last.
const searched = 4 << 20

// Folder is the folder of the files that only grow.
const Folder = "transcripts"

// Files are the files transcripts/<container>.jsonl in the state directory: the conversation and the tool calls
// in each room, one line each, with a begin and an end line around each task. Each line names its room, and counts only
// there, whatever the file is called. Lines are only appended. All methods can be called from any goroutine.
type Files struct {
	dir   string
	max   int64
	log   zerolog.Logger
	lock  sync.Mutex
	paths map[string]string // by room
}

// Open opens the transcripts of the state directory dir; it creates their folder, dir/transcripts, if it is
// missing.
func Open(dir string, log zerolog.Logger) (*Files, error) {
	t := &Files{dir: filepath.Join(dir, Folder), max: Max, log: log, paths: map[string]string{}}
	if err := disk.MakeDir(t.dir); err != nil {
		return nil, err
	}
	return t, nil
}

// Begin records that a task starts; the line is on disk when it returns. text is the user's request. If there is
// already such a line, it writes nothing, unless that was more than 4 MiB ago: then there are two begin lines.
func (t *Files) Begin(room, event, text string) error {
	return t.once(room, Line{Kind: KindBegin, Event: event, Text: text})
}

// End records that a task has ended; the line is on disk when it returns. If there is already such a line, it writes
// nothing.
func (t *Files) End(room, event, outcome string) error {
	return t.once(room, Line{Kind: KindEnd, Event: event, Outcome: outcome})
}

// Append adds a line to a room's transcript. A zero Time becomes now. The system has the line when Append returns; it
// is on disk with the next Begin or End.
func (t *Files) Append(room string, line Line) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.add(room, line, false)
}

// HasEnd reports whether the task has an end line.
func (t *Files) HasEnd(room, event string) (bool, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.has(room, KindEnd, event, math.MaxInt64)
}

// Load reads a room's transcript, oldest line first. torn says that the last line was incomplete (a crash); it is
// cut off the file. A missing transcript has no lines.
func (t *Files) Load(room string) (lines []Line, torn bool, err error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	path, err := t.path(room)
	if err != nil {
		return nil, false, err
	}
	if torn, err = t.mend(path); err != nil {
		return nil, torn, disk.Explain(fmt.Errorf("load transcript: %w", err), path)
	}
	lines, err = t.read(path, room, 2*(t.max+maxLine))
	return lines, torn, err
}

// path returns the file of a room's transcript: the one with its short name, or that with its whole one if another room
// has begun the first.
func (t *Files) path(room string) (string, error) {
	if path := t.paths[room]; path != "" {
		return path, nil
	}
	if room == "" {
		return "", errors.New("transcript without a room")
	}
	path, whole := t.file(roomname.Short(room)), t.file(roomname.Whole(room))
	switch owner, err := begunBy(path); {
	case err != nil:
		return "", disk.Explain(err, path)
	case owner == room:
		whole = path
	case owner == "" && !present(whole) && !present(whole+".1"):
		return path, nil // not remembered: another room may begin it
	}
	if t.paths != nil {
		t.paths[room] = whole
	}
	return whole, nil
}

func (t *Files) file(name string) string {
	return filepath.Join(t.dir, "sandbox-"+name+".jsonl")
}

func (t *Files) once(room string, line Line) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if there, err := t.has(room, line.Kind, line.Event, searched); there || err != nil {
		return err
	}
	return t.add(room, line, true)
}

// add appends one line.
func (t *Files) add(room string, line Line, sync bool) error {
	line.Room = room
	path, err := t.path(room)
	if err != nil {
		return err
	}
	if line.Time.IsZero() {
		line.Time = time.Now().UTC().Truncate(time.Millisecond)
	}
	if _, err := t.mend(path); err != nil {
		return disk.Explain(fmt.Errorf("repair transcript: %w", err), path)
	}
	text := line.encode()
	if err := t.rotate(path, int64(len(text))); err != nil {
		return disk.Explain(fmt.Errorf("rotate transcript: %w", err), path)
	}
	if err := appendFile(path, text, sync); err != nil {
		return disk.Explain(fmt.Errorf("write transcript: %w", err), path)
	}
	return nil
}

func appendFile(path string, text []byte, sync bool) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	crash.Count("append transcript")
	if _, err := file.Write(text); err != nil {
		return err // a partial write leaves a torn line, which mend cuts
	}
	if !sync {
		return nil
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if info.Size() == 0 {
		return disk.SyncDir(filepath.Dir(path))
	}
	return nil
}

// rotate moves the file to .1 if more bytes would make it too large.
func (t *Files) rotate(path string, more int64) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Size() == 0 || info.Size()+more <= t.max {
		return err
	}
	crash.Count("rotate transcript")
	if err := os.Rename(path, path+".1"); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}
