package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// maxLogs bounds the entries of the folder memory that are looked at.
const maxLogs = 4000

// ReadFolder reads the memory files in a folder, which an agent may have filled: MEMORY.md, context.md, status.md and
// memory/*.md. It follows no link, waits for no pipe or device, reads at most MaxFiles bytes altogether, and of logs the
// newest first. skipped says what it left out, and why.
func ReadFolder(dir string) (docs []Document, skipped []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("read memory files: %w", err)
	}
	defer root.Close()
	left := int64(MaxFiles)
	for _, name := range append([]string{"MEMORY.md", "context.md", "status.md"}, logNames(root)...) {
		source, ok := SourceOf(name)
		if !ok {
			continue
		}
		if left <= 0 {
			skipped = append(skipped, name+": there is too much before it")
			continue
		}
		data, cut, err := readRegular(root, name, left)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			skipped = append(skipped, fmt.Sprintf("%s: %v", name, err))
			continue
		case cut:
			skipped = append(skipped, name+": its end, because there is too much")
		}
		left -= int64(len(data))
		docs = append(docs, Markdown(source, name, string(data)))
	}
	return docs, skipped, nil
}

// logNames lists the daily logs, the newest first.
func logNames(root *os.Root) (names []string) {
	info, err := root.Lstat("memory")
	if err != nil || !info.IsDir() {
		return nil
	}
	folder, err := root.Open("memory")
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(maxLogs)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") {
			names = append(names, "memory/"+e.Name())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names
}

// readRegular reads at most limit bytes of a regular file, up to the end of a line.
func readRegular(root *os.Root, name string, limit int64) (data []byte, cut bool, err error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, false, err
	}
	if !before.Mode().IsRegular() {
		return nil, false, errors.New("not a regular file")
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() || !os.SameFile(before, info) { // somebody has replaced it
		return nil, false, errors.New("not a regular file")
	}
	data, err = io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil || int64(len(data)) <= limit {
		return data, false, err
	}
	data = data[:limit]
	for i := len(data) - 1; i > 0; i-- {
		if data[i] == '\n' {
			return data[:i+1], true, nil
		}
	}
	return data, true, nil
}
