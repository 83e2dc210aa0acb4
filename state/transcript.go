package state

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/crash"
)

// MaxTranscript is the size at which a transcript is moved to .1, in bytes; an older .1 is replaced. So a container's
// transcripts take at most twice that.
const MaxTranscript = 32 << 20

// searched is how far back Begin and End look for the line that they are about
// to write, in bytes: after a crash it is among the last.
const searched = 4 << 20

// Transcripts are the files transcripts/<container>.jsonl in the state directory: the conversation and the tool calls
// in each container, one line each, with a begin and an end line around each task. Lines are only appended. All methods
// can be called from any goroutine.
type Transcripts struct {
	dir  string
	max  int64
	log  zerolog.Logger
	lock sync.Mutex
}

// OpenTranscripts opens the transcripts of the state directory dir; it creates their folder, dir/transcripts, if it is
// missing.
func OpenTranscripts(dir string, log zerolog.Logger) (*Transcripts, error) {
	t := &Transcripts{dir: filepath.Join(dir, "transcripts"), max: MaxTranscript, log: log}
	if err := makeDir(t.dir); err != nil {
		return nil, err
	}
	return t, nil
}

// Begin records that a task starts; the line is on disk when it returns. text is the user's request. If there is
// already such a line, it writes nothing, unless that was more than 4 MiB ago: then there are two begin lines, which
// HistoryFrom treats as one.
func (t *Transcripts) Begin(name, event, text string) error {
	return t.once(name, Line{Kind: KindBegin, Event: event, Text: text})
}

// End records that a task has ended; the line is on disk when it returns. If there is already such a line, it writes
// nothing.
func (t *Transcripts) End(name, event, outcome string) error {
	return t.once(name, Line{Kind: KindEnd, Event: event, Outcome: outcome})
}

// Append adds a line. A zero Time becomes now. The system has the line when Append returns; it is on disk with the next
// Begin or End.
func (t *Transcripts) Append(name string, line Line) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.add(name, line, false)
}

// HasEnd reports whether the task has an end line.
func (t *Transcripts) HasEnd(name, event string) (bool, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.has(name, KindEnd, event, math.MaxInt64)
}

// Load reads a container's transcript, oldest line first. torn says that the last line was incomplete (a crash); it is
// cut off the file. A missing transcript has no lines.
func (t *Transcripts) Load(name string) (lines []Line, torn bool, err error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	path, err := t.path(name)
	if err != nil {
		return nil, false, err
	}
	if torn, err = t.mend(path); err != nil {
		return nil, torn, explain(fmt.Errorf("load transcript: %w", err), path)
	}
	for _, part := range []string{path + ".1", path} {
		data, err := readEnd(part, t.max+maxLine)
		if err != nil {
			return nil, torn, explain(fmt.Errorf("load transcript: %w", err), path)
		}
		more, _, bad := parseLines(data)
		if bad > 0 {
			t.log.Warn().Str("transcript", part).Int("lines", bad).Msg("skipped lines that do not parse")
		}
		lines = append(lines, more...)
	}
	return lines, torn, nil
}

var nameRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$`)

func (t *Transcripts) path(name string) (string, error) {
	if !nameRule.MatchString(name) {
		return "", fmt.Errorf("transcript %q: not a container name", name)
	}
	return filepath.Join(t.dir, name+".jsonl"), nil
}

func (t *Transcripts) once(name string, line Line) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if there, err := t.has(name, line.Kind, line.Event, searched); there || err != nil {
		return err
	}
	return t.add(name, line, true)
}

// add appends one line.
func (t *Transcripts) add(name string, line Line, sync bool) error {
	path, err := t.path(name)
	if err != nil {
		return err
	}
	if line.Time.IsZero() {
		line.Time = time.Now().UTC().Truncate(time.Millisecond)
	}
	if _, err := t.mend(path); err != nil {
		return explain(fmt.Errorf("repair transcript: %w", err), path)
	}
	text := line.encode()
	if err := t.rotate(path, int64(len(text))); err != nil {
		return explain(fmt.Errorf("rotate transcript: %w", err), path)
	}
	if err := appendFile(path, text, sync); err != nil {
		return explain(fmt.Errorf("write transcript: %w", err), path)
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
		return syncDir(filepath.Dir(path))
	}
	return nil
}

// rotate moves the file to .1 if more bytes would make it too large.
func (t *Transcripts) rotate(path string, more int64) error {
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
	return syncDir(filepath.Dir(path))
}
