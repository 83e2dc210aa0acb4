package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		return nil, []string{fmt.Sprintf("%s cannot be read: %v", path, reason(err))}
	}
	settings, problems = parseDotenv(string(data))
	for i, p := range problems {
		problems[i] = path + p
	}
	return settings, problems
}

// parseDotenv reads lines of the form NAME=value. It allows empty lines, comments that start with #, `export ` before a
// name, a value in 'single quotes' (taken literally) or in "double quotes" (\n \t \" \\ \$ are escapes), and a comment
// after white space after a value. Nothing is expanded. Every other line is a problem of the form `:LINE: sentence`.
func parseDotenv(text string) (settings map[string]string, problems []string) {
	settings = map[string]string{}
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		name, value, err := parseDotenvLine(strings.TrimSpace(line))
		if err == nil && name != "" {
			if _, twice := settings[name]; twice {
				err = fmt.Errorf("%s is set twice; keep one of the two lines", name)
			}
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf(":%d: %v", i+1, err))
			continue
		}
		if name != "" {
			settings[name] = value
		}
	}
	return settings, problems
}

// parseDotenvLine returns "" as the name of a line without a setting. Errors do not
// quote the value: it may be a secret.
func parseDotenvLine(line string) (name, value string, err error) {
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	if strings.ContainsRune(line, 0) {
		return "", "", errors.New("the line contains a NUL byte")
	}
	if rest, ok := strings.CutPrefix(line, "export"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
		line = strings.TrimSpace(rest)
	}
	name, raw, ok := strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	if !ok || !isName(name) {
		return "", "", errors.New("not a setting; write NAME=value, or start a comment with #")
	}
	value, err = dotenvValue(strings.TrimSpace(raw))
	if err != nil {
		return "", "", fmt.Errorf("%s %w", name, err)
	}
	return name, value, nil
}

func dotenvValue(raw string) (string, error) {
	if raw == "" || raw[0] != '"' && raw[0] != '\'' {
		// A # starts a comment at the beginning or after white space: a password may contain one elsewhere.
		for i := range len(raw) {
			if raw[i] == '#' && (i == 0 || raw[i-1] == ' ' || raw[i-1] == '\t') {
				raw = strings.TrimSpace(raw[:i])
				break
			}
		}
		return raw, nil
	}
	quote, rest := raw[0], raw[1:]
	var value strings.Builder
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == quote:
			if tail := strings.TrimSpace(rest[i+1:]); tail != "" && tail[0] != '#' {
				return "", errors.New("has text after its closing quote; put the whole value in quotes")
			}
			return value.String(), nil
		case c == '\\' && quote == '"':
			i++
			if i == len(rest) {
				return "", errors.New("has no closing quote")
			}
			switch rest[i] {
			case 'n':
				value.WriteByte('\n')
			case 't':
				value.WriteByte('\t')
			case '"', '\\', '$':
				value.WriteByte(rest[i])
			default:
				return "", fmt.Errorf(`contains the unknown escape \%c; use single quotes for a value with backslashes`, rest[i])
			}
		default:
			value.WriteByte(c)
		}
	}
	return "", errors.New("has no closing quote")
}

// isName reports whether s can be the name of an environment variable.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// readBounded reads a regular file, a pipe or a device of at most maxDotenv
// bytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, maxDotenv)
}
