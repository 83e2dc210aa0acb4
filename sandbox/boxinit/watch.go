package boxinit

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	// watchShown bounds the end of a watched file in a status, in bytes.
	watchShown = 4 << 10
	// stderrShown bounds the end of stderr in a status, in bytes.
	stderrShown = 4 << 10

	// Bounds of what else is in a status. Nothing asks for more.
	maxWatched = 16
	maxPath    = 4 << 10 // bytes
	maxWord    = 64
)

// Bounded returns the status with nothing longer than boxinit makes it: a process of the container may have written it.
func (s RunStatus) Bounded() RunStatus {
	s.State, s.Signal, s.Stderr = RunState(clip(string(s.State), maxWord)), clip(s.Signal, maxWord),
		clip(s.Stderr, stderrShown)
	var list []Watched
	for _, w := range s.Watch[:min(len(s.Watch), maxWatched)] {
		w.Path, w.Tail = clip(w.Path, maxPath), clip(w.Tail, watchShown)
		list = append(list, w)
	}
	s.Watch = list
	return s
}

// measure records the sizes of the files before a run.
func measure(paths []string) []Watched {
	var list []Watched
	for _, path := range paths {
		list = append(list, Watched{Path: path, Before: sizeOf(path)})
	}
	return list
}

// look records the current sizes and ends of the files.
func look(before []Watched) []Watched {
	var list []Watched
	for _, w := range before {
		w.After = sizeOf(w.Path)
		_, err := os.Lstat(w.Path)
		w.Absent = errors.Is(err, fs.ErrNotExist)
		tail, _ := tailOf(w.Path, watchShown)
		w.Tail = validTail(tail, watchShown)
		list = append(list, w)
	}
	return list
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// openRegular opens a regular file for reading; a FIFO does not block it.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0))
}

// regular returns a file that was opened, unless it is no regular one.
func regular(f *os.File, err error) (*os.File, os.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: f.Name(), Err: errNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// tailOf returns the last n bytes of a regular file.
func tailOf(path string, n int64) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-n), n))
}

// validTail returns at most the last n bytes of b as valid UTF-8, beginning with
// a whole character.
func validTail(b []byte, n int) string {
	if len(b) > n {
		b = b[len(b)-n:]
		for i := 0; i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
			b = b[1:]
		}
	}
	b = bytes.ReplaceAll(b, []byte{0}, nil)
	return clip(strings.ToValidUTF8(string(b), "\uFFFD"), n)
}

// clip keeps the last n bytes of valid UTF-8; replacement characters are longer than what they replace.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}
