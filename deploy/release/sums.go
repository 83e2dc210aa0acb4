package release

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Info is release.json: what a release says about itself.
type Info struct {
	Commit  string    `json:"commit"` // 40 digits
	Version string    `json:"version"`
	Built   time.Time `json:"built"`
	Recipe  string    `json:"recipe"`  // of the sandbox image: hash of what it is built from
	Number  int       `json:"number"`  // how many commits it is made of: a newer release has a higher number; 0 = unknown
	History []Change  `json:"history"` // the newest commits, newest first
}

// Change is one commit.
type Change struct {
	Commit  string `json:"commit"` // 40 digits
	Subject string `json:"subject"`
}

// since returns the subjects of the commits after a commit, newest first.
func (i Info) since(commit string) []string {
	var subjects []string
	for _, c := range i.History {
		if Short(c.Commit) == commit {
			return subjects
		}
		if len(subjects) == maxSubjects {
			return append(subjects, "… and more")
		}
		subjects = append(subjects, c.Subject)
	}
	return subjects
}

const sumsFile = "SHA256SUMS"

// Info reads a release's release.json.
func (b Base) Info(commit string) (Info, error) { return readInfo(b.Dir(commit)) }

func readInfo(dir string) (info Info, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "release.json"))
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	if err == nil && (len(info.Commit) != 40 || !commitName.MatchString(Short(info.Commit))) {
		err = fmt.Errorf("%q is not a commit", info.Commit)
	}
	if err != nil {
		return Info{}, fmt.Errorf("read release.json: %w", err)
	}
	return info, nil
}

// Check returns an error unless a release exists and all its files are unchanged.
func (b Base) Check(commit string) error {
	if !commitName.MatchString(commit) {
		return fmt.Errorf("check release: %q is not a commit of 12 digits", commit)
	}
	if err := checkSums(b.Dir(commit)); err != nil {
		return fmt.Errorf("check release %s: %w", commit, err)
	}
	return nil
}

// writeSums lists every file of a folder with its checksum, in the format of
// sha256sum.
func writeSums(dir string) error {
	sums, err := sumsOf(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, name := range sorted(sums) {
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(text.String()), 0o644)
}

// checkSums compares a folder with its list: no file may be missing, changed or
// added.
func checkSums(dir string) error {
	list, err := os.Open(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	defer list.Close()
	have, err := sumsOf(dir)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(list); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		if have[name] != sum {
			return fmt.Errorf("%s has changed", name)
		}
		delete(have, name)
	}
	if len(have) > 0 {
		return fmt.Errorf("%s does not belong to the release", sorted(have)[0])
	}
	return nil
}

func sumsOf(dir string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == sumsFile {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		sums[name], err = sumOf(path)
		return err
	})
	return sums, err
}

// sumOf returns the SHA-256 of a file, in hex.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
