package transcripts

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/state/disk"
)

// mend cuts off an incomplete last line, and reports it.
func (t *Files) mend(path string) (bool, error) {
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
	t.log.Warn().Str("transcript", path).Int64("bytes", info.Size()-end).Msg("last line was incomplete: cut off")
	crash.Count("mend transcript")
	return true, file.Truncate(end)
}

// lastLineEnd returns the offset after the last newline.
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

// readEnd reads at most the last limit bytes of a file, from the beginning of a line on.
func readEnd(path string, limit int64) ([]byte, error) {
	var data []byte
	size, err := inEnd(path, limit, func(in io.Reader) (err error) {
		data, err = io.ReadAll(in)
		return err
	})
	if size > limit {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data, err
}

// inEnd reads the last limit bytes of a file, and returns its size. A missing file is empty.
func inEnd(path string, limit int64, read func(io.Reader) error) (size int64, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	from := max(0, info.Size()-limit)
	return info.Size(), read(io.NewSectionReader(file, from, info.Size()-from))
}

// begunBy returns the room that the first line of a transcript names, "" if none does: earlier releases began with a
// line that has none.
func begunBy(path string) (room string, err error) {
	named := func(text []byte) bool {
		var line Line
		if json.Unmarshal(text, &line) == nil {
			room = line.Room
		}
		return room != ""
	}
	for _, part := range []string{path + ".1", path} {
		if _, found, err := searchEnd(part, math.MaxInt64, named); found || err != nil {
			return room, err
		}
	}
	return "", nil
}

// linesOf returns the lines of a room. Where earlier releases have begun or ended a task, the line names no room: it
// belongs to the one that all other lines of that task name.
func linesOf(room string, lines []Line) []Line {
	rooms := map[string]string{} // by event
	for _, line := range lines {
		if other, known := rooms[line.Event]; line.Room != "" && known && other != line.Room {
			rooms[line.Event] = ""
		} else if line.Room != "" && !known {
			rooms[line.Event] = line.Room
		}
	}
	return slices.DeleteFunc(lines, func(line Line) bool { return cmp.Or(line.Room, rooms[line.Event]) != room })
}

func present(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// has looks for a line of a kind that belongs to an event, in the newest limit
// bytes.
func (t *Files) has(room, kind, event string, limit int64) (bool, error) {
	path, err := t.path(room)
	if err != nil {
		return false, err
	}
	event = disk.Clip(event, maxField)
	needle := disk.JSON(event)
	ok := func(text []byte) bool {
		var line Line
		return bytes.Contains(text, needle) && json.Unmarshal(text, &line) == nil && line.Kind == kind &&
			line.Event == event &&
			(line.Room == room || line.Room == "" && (kind == KindBegin ||
				kind == KindEnd)) // earlier releases named no room there
	}
	for _, part := range []string{path, path + ".1"} {
		size, found, err := searchEnd(part, limit, ok)
		if found || err != nil {
			return found, disk.Explain(err, path)
		}
		if limit -= size; limit <= 0 {
			break
		}
	}
	return false, nil
}

// searchEnd returns the size of a file, and whether ok is true for a line in its last limit bytes.
func searchEnd(path string, limit int64, ok func([]byte) bool) (size int64, found bool, err error) {
	size, err = inEnd(path, limit, func(in io.Reader) (err error) {
		found, err = anyLine(in, ok)
		return err
	})
	if err != nil {
		err = fmt.Errorf("search transcript: %w", err)
	}
	return size, found, err
}

// anyLine reports whether ok is true for a line. A line without a newline, or longer than maxLine, is not a complete
// line of ours and does not count.
func anyLine(r io.Reader, ok func([]byte) bool) (bool, error) {
	in := bufio.NewReaderSize(r, maxLine)
	for tooLong := false; ; {
		text, err := in.ReadSlice('\n')
		switch {
		case err == nil && !tooLong && ok(text):
			return true, nil
		case err == io.EOF:
			return false, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return false, err
		}
		tooLong = errors.Is(err, bufio.ErrBufferFull)
	}
}

// Read reads the newest lines of a room's transcript, oldest first, from at most the last most bytes,
// from another process: it takes no lock and repairs nothing. A missing transcript has no lines.
func Read(dir, room string, most int64) ([]Line, error) {
	t := Files{dir: filepath.Join(dir, Folder)}
	path, err := t.path(room)
	if err != nil {
		return nil, err
	}
	return t.read(path, room, most)
}

// read reads at most the last most bytes.
func (t *Files) read(path, room string, most int64) (lines []Line, err error) {
	for _, part := range []string{path, path + ".1"} {
		data, err := readEnd(part, most)
		if err != nil {
			return nil, disk.Explain(fmt.Errorf("read transcript: %w", err), path)
		}
		found, _, bad := parseLines(data)
		if bad > 0 {
			t.log.Warn().Str("transcript", part).Int("lines", bad).Msg("skipped lines that do not parse")
		}
		lines = append(found, lines...)
		if most -= int64(len(data)); most <= 0 {
			break
		}
	}
	return linesOf(room, lines), nil
}

// Changed returns when a room's transcript was last written, from another process; zero if there is none.
func Changed(dir, room string) time.Time {
	t := Files{dir: filepath.Join(dir, Folder)}
	path, err := t.path(room)
	if err != nil {
		return time.Time{}
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
