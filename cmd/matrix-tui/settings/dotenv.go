package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// maxDotenv bounds a .env file and a secret's file.
const maxDotenv = 1 << 20

// readDotenv reads the .env file in a folder. A missing file has no settings and no
// problems.
func readDotenv(dir string) (settings map[string]string, problems []string) {
	path := filepath.Join(dir, ".env")
	data, err := readBounded(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, []string{fmt.Sprintf("%s cannot be read: %v", path, Reason(err))}
	}
	settings, problems = parseDotenv(string(data))
	for i, p := range problems {
		problems[i] = path + p
	}
	return settings, problems
}

// Parts of a line. A value in quotes may contain everything but them; in double quotes there are escapes. Without
// quotes, a # starts a comment at the beginning or after white space: a password may contain one elsewhere.
var (
	assignment = regexp.MustCompile(`^(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)$`)
	inQuotes   = regexp.MustCompile(`^(?:'([^']*)'|"((?:[^"\\]|\\[nt"\\$])*)")[ \t]*(?:#.*)?$`)
	comment    = regexp.MustCompile(`(?:^|[ \t]+)#.*$`)
	escapes    = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, `$`)
)

// parseDotenv reads lines of the form NAME=value. It allows empty lines, comments, `export ` before a name, and quotes.
// Nothing is expanded: a password may contain $, and a library that expands it would change it silently. Every other
// line is a problem of the form `:LINE: sentence`, which does not quote the line: it may hold a secret.
func parseDotenv(text string) (settings map[string]string, problems []string) {
	settings = map[string]string{}
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		found := assignment.FindStringSubmatch(line)
		if found == nil || strings.ContainsRune(line, 0) {
			problems = append(problems, fmt.Sprintf(":%d: not a setting; write NAME=value, or start a comment with #", i+1))
			continue
		}
		name, value := found[1], comment.ReplaceAllString(found[2], "")
		if strings.HasPrefix(value, "'") || strings.HasPrefix(value, `"`) {
			quoted := inQuotes.FindStringSubmatch(found[2])
			if quoted == nil {
				problems = append(problems, fmt.Sprintf(":%d: the quotes of %s do not enclose its value, "+
					"or it has an unknown escape; put the whole value in single quotes", i+1, name))
				continue
			}
			value = quoted[1] + escapes.Replace(quoted[2])
		}
		if _, twice := settings[name]; twice {
			problems = append(problems, fmt.Sprintf(":%d: %s is set twice; keep one of the two lines", i+1, name))
			continue
		}
		settings[name] = value
	}
	return settings, problems
}

// readBounded reads a regular file, a pipe or a device of at most maxDotenv
// bytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAtMost(f, maxDotenv)
}
