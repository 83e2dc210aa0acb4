package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/renameio/v2"

	"matrix-tui/bot/update"
)

// Phase is the progress of an update. The words are on disk.
type Phase string

const (
	Asked    Phase = "asked"    // requested; the old release is in charge
	Switched Phase = "switched" // the new release has the state; which one is in charge, `current` says
	Failed   Phase = "failed"   // the old release goes on; see Why
	Done     Phase = "done"     // the new release is ready
)

// Record is update.json.
type Record struct {
	Phase Phase
	update.Result
	Image    string         // the sandbox image built for it
	State    string         // STATE_DIR
	Told     bool           // the room knows the result
	Failures map[string]int // how often each commit did not become ready
}

// Read returns the record of the current or last update; the zero value if there was none.
func (b Base) Read() (Record, error) {
	data, err := os.ReadFile(b.path("update.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("read update record: %w", err)
	}
	return parseRecord(data)
}

func parseRecord(data []byte) (r Record, err error) {
	err = json.Unmarshal(data, &r)
	switch r.Phase { // words of releases of before; to be deleted two releases later
	case "prepared":
		r.Phase = Asked
	case "failing":
		r.Phase = Switched
	case "rolled back":
		r.Phase = Failed
	}
	for _, commit := range []string{r.From, r.To} {
		if err == nil && commit != "" && !commitName.MatchString(commit) {
			err = fmt.Errorf("%q is not a commit", commit)
		}
	}
	if err != nil {
		return Record{}, fmt.Errorf("read update record: %w", err)
	}
	return r, nil
}

// Write replaces the record; it is on disk when Write returns.
func (b Base) Write(r Record) error {
	if err := errors.Join(writeJSON(b.path("update.json"), 0o600, r), syncDir(string(b))); err != nil {
		return full(fmt.Errorf("write update record: %w", err), b)
	}
	return nil
}

func writeJSON(path string, mode fs.FileMode, what any) error {
	data, err := json.MarshalIndent(what, "", "  ")
	return errors.Join(err, renameio.WriteFile(path, append(data, '\n'), mode))
}

// change rewrites the record.
func (b Base) change(edit func(*Record)) error {
	r, err := b.Read()
	if err != nil {
		return err
	}
	edit(&r)
	return b.Write(r)
}

// maxFailures bounds the commits whose failures are counted: beyond it, counting starts over.
const maxFailures = 50

// fails says why the update fails, and counts that against the release if it is to blame.
func (r *Record) fails(why string, log []string, counts bool) {
	r.Why, r.Log, r.Ended, r.Told = why, log, time.Now().UTC(), false
	if counts {
		if r.Failures == nil || len(r.Failures) >= maxFailures {
			r.Failures = map[string]int{}
		}
		r.Failures[r.To]++
	}
}
