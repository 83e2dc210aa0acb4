package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
func (i Info) since(commit string) (subjects []string) {
	for _, c := range i.History {
		if Short(c.Commit) == commit {
			break
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
func (b Base) Info(commit string) (Info, error) { return readInfo(b.Dir(commit), commit) }

func readInfo(dir, commit string) (info Info, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "release.json"))
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	if err == nil && (len(info.Commit) != 40 || Short(info.Commit) != commit) {
		err = fmt.Errorf("it is of %q", info.Commit)
	}
	if err != nil {
		return Info{}, fmt.Errorf("read release.json: %w", err)
	}
	return info, nil
}

const sumsFile = "SHA256SUMS"

// Check returns an error unless a release exists and all its files are unchanged.
func (b Base) Check(commit string) error {
	err := fmt.Errorf("%q is not a commit of 12 digits", commit)
	if commitName.MatchString(commit) {
		err = checkSums(b.Dir(commit))
	}
	if err != nil {
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
	if err == nil && have != string(list) {
		err = errors.New("its files do not match " + sumsFile)
	}
	return err
}

// writeSums lists every file of a folder with its checksum.
func writeSums(dir string) error {
	sums, err := sumsOf(dir)
	return errors.Join(err, os.WriteFile(filepath.Join(dir, sumsFile), []byte(sums), 0o644))
}

func sumsOf(dir string) (string, error) {
	const script = `find . ! -type d ! -path ./` + sumsFile + ` -printf '%P\n' | LC_ALL=C sort | xargs -rd '\n' sha256sum`
	return program{dir: dir, limit: time.Minute}.run(context.Background(), "sh", "-c", script)
}
