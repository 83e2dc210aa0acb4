package state

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

// MaxTranscript is the size at which a transcript is moved to .1, in bytes; an
// older .1 goes. So a container's transcripts take at most twice that.
const MaxTranscript = 32 << 20

// Transcripts are the files transcripts/<container>.jsonl in the state
// directory: what was said and done in each container, a line each, with a
// begin and an end line around each task. They are only ever added to. All
// methods can be called from any goroutine.
type Transcripts struct {
	dir  string
	max  int64
	log  zerolog.Logger
	lock sync.Mutex
}

// OpenTranscripts opens the transcripts of the state directory dir; their
// folder is dir/transcripts and is made when it is missing.
func OpenTranscripts(dir string, log zerolog.Logger) (*Transcripts, error) {
	t := &Transcripts{dir: filepath.Join(dir, "transcripts"), max: MaxTranscript, log: log}
	if err := makeDir(t.dir); err != nil {
		return nil, err
	}
	return t, nil
}

// Begin writes that a task begins, on the disk when it returns. text is what
// the user asked. Begun already, nothing is written.
func (t *Transcripts) Begin(name, event, text string) error {
	return t.once(name, Line{Kind: KindBegin, Event: event, Text: text})
}

// End writes that a task has ended, on the disk when it returns. Ended already,
// nothing is written.
func (t *Transcripts) End(name, event, outcome string) error {
	return t.once(name, Line{Kind: KindEnd, Event: event, Outcome: outcome})
}

// Append adds a line. A zero Time becomes now. The line is with the system when
// Append returns, and on the disk with the next Begin or End.
func (t *Transcripts) Append(name string, line Line) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.add(name, line, false)
}

// HasEnd reports whether the task has an end line.
func (t *Transcripts) HasEnd(name, event string) (bool, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.has(name, KindEnd, event)
}

// Load reads a container's transcript, oldest line first. torn says that the
// last line was not written to its end (a crash); it is cut off the file. A
// missing transcript has no lines.
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
			t.log.Warn().Str("transcript", part).Int("lines", bad).Msg("lines that do not parse left out")
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
	if there, err := t.has(name, line.Kind, line.Event); there || err != nil {
		return err
	}
	return t.add(name, line, true)
}

// add appends one line: whole, or not at all.
func (t *Transcripts) add(name string, line Line, sync bool) error {
	path, err := t.path(name)
	if err != nil {
		return err
	}
	if line.Time.IsZero() {
		line.Time = time.Now().UTC().Truncate(time.Millisecond)
	}
	if _, err := t.mend(path); err != nil {
		return explain(fmt.Errorf("mend transcript: %w", err), path)
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
	if _, err := file.Write(text); err != nil {
		_ = file.Truncate(info.Size()) // what did not fit would be a torn line
		return err
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

// rotate moves the file to .1 when more bytes would make it too large.
func (t *Transcripts) rotate(path string, more int64) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Size() == 0 || info.Size()+more <= t.max {
		return err
	}
	if err := os.Rename(path, path+".1"); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// mend cuts off a last line that was not written to its end, and says so.
func (t *Transcripts) mend(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	end, err := lastLineEnd(file, info.Size())
	if err != nil || end == info.Size() {
		return false, err
	}
	t.log.Warn().Str("transcript", path).Int64("bytes", info.Size()-end).Msg("last line was not written to its end: cut off")
	return true, file.Truncate(end)
}

// lastLineEnd is the offset behind the last newline.
func lastLineEnd(file io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 1)
	for step := int64(1); size > 0; step = 64 << 10 {
		if int64(len(buf)) < step {
			buf = make([]byte, step)
		}
		from := max(0, size-step)
		part := buf[:size-from]
		if _, err := file.ReadAt(part, from); err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		size = from
	}
	return 0, nil
}

// readEnd reads at most the last limit bytes of a file, from the beginning of a
// line on; a missing file is empty.
func readEnd(path string, limit int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-limit)
	data, err := io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
	if err != nil {
		return nil, err
	}
	if from > 0 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data, nil
}

// has looks for a line of a kind that belongs to an event.
func (t *Transcripts) has(name, kind, event string) (bool, error) {
	path, err := t.path(name)
	if err != nil {
		return false, err
	}
	for _, part := range []string{path, path + ".1"} {
		found, err := fileHas(part, kind, clip(event, maxField))
		if found || err != nil {
			return found, explain(err, path)
		}
	}
	return false, nil
}

func fileHas(path, kind, event string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("search transcript: %w", err)
	}
	defer file.Close()
	needle := encodeJSON(event)
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), needle) {
			continue
		}
		found, _, _ := parseLines(append(bytes.Clone(lines.Bytes()), '\n'))
		if len(found) == 1 && found[0].Kind == kind && found[0].Event == event {
			return true, nil
		}
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("search transcript: %w", err)
	}
	return false, nil
}
