package release

import (
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

func (i Info) knows(commit string) bool {
	return slices.ContainsFunc(i.History, func(c Change) bool { return Short(c.Commit) == commit })
}

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

const sumsFile = "SHA256SUMS"

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

// checkSums compares a folder with its list: no file may be missing, changed or added.
func checkSums(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	have, err := sumsOf(dir)
	if err != nil {
		return err
	}
	if !slices.Equal(slices.Sorted(strings.Lines(string(list))), have) {
		return fmt.Errorf("its files do not match %s", sumsFile)
	}
	return nil
}

// writeSums lists every file of a folder with its checksum, in the format of sha256sum.
func writeSums(dir string) error {
	sums, err := sumsOf(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(strings.Join(sums, "")), 0o644)
}

// sumsOf returns the sorted lines of that list.
func sumsOf(dir string) (lines []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || name == sumsFile {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		sum, err := sumOf(path)
		lines = append(lines, sum+"  "+name+"\n")
		return err
	})
	slices.Sort(lines)
	return lines, err
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
