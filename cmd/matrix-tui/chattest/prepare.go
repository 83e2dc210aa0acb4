package chattest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// renamed are verbs whose names testscript has taken for commands of its own.
// They are replaced on the way to testscript; line numbers stay.
var renamed = map[string]string{"kill": "bot-kill", "stop": "bot-stop"}

// prepare copies the scripts of dir to a folder with their verbs renamed, and
// returns the copies.
func prepare(dir, to string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, fmt.Errorf("find scripts: %w", err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of the scripts: %w", err)
	}
	var copies []string
	for _, path := range paths {
		script, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		dst := filepath.Join(to, filepath.Base(path))
		if err := os.WriteFile(dst, []byte(rename(string(script))), 0o600); err != nil {
			return nil, fmt.Errorf("write script: %w", err)
		}
		copies = append(copies, dst)
	}
	return copies, nil
}

// rename replaces the taken verbs in the script part of a txtar archive.
func rename(archive string) string {
	lines := strings.SplitAfter(archive, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "-- ") {
			break // the files begin
		}
		verb, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if to, ok := renamed[verb]; ok {
			lines[i] = strings.TrimRight(to+" "+rest, " ") + "\n"
		}
	}
	return strings.Join(lines, "")
}
