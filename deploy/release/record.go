package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/renameio/v2"
)

// Phase is the progress of an update. The words are on disk.
type Phase string

// In the first three the old release is in charge; if it is interrupted there, it continues as if there had been no
// request.
const (
	Asked    Phase = "asked"    // requested
	Prepared Phase = "prepared" // the new release is built and has passed its trial
	Failed   Phase = "failed"   // it ended before the switch; see Why

	Switched   Phase = "switched"    // the new release has the state, and is not ready yet
	Failing    Phase = "failing"     // it did not become ready: the old state must be restored
	RolledBack Phase = "rolled back" // the old release has its state back; see Why
	Done       Phase = "done"        // the new release was ready
)

// Snapshot contains what must be the same before and after an update.
type Snapshot struct {
	Rooms     int    `json:"rooms"`     // with a container
	Container string `json:"container"` // of the room with the request, its ID
	Turns     int    `json:"turns"`     // turns of conversation, in all rooms
}

// Record is update.json.
type Record struct {
	Phase Phase  `json:"phase"`
	Ref   string `json:"ref,omitempty"`   // as requested; "" = the newest
	Room  string `json:"room,omitempty"`  // the room of the request; "" = the command line
	Event string `json:"event,omitempty"` // the message of the request

	From     string   `json:"from,omitempty"` // commits, 12 digits
	To       string   `json:"to,omitempty"`
	Subjects []string `json:"subjects,omitempty"` // the changes, newest first
	Image    string   `json:"image,omitempty"`    // the sandbox image built for it
	State    string   `json:"state,omitempty"`    // STATE_DIR

	Begun    time.Time `json:"begun"`
	Stopped  time.Time `json:"stopped,omitzero"`  // when the old release was told to stop
	Switched time.Time `json:"switched,omitzero"` // when the new release's time started
	Ended    time.Time `json:"ended,omitzero"`

	PID        int      `json:"pid,omitempty"`        // of the new release
	Starts     int      `json:"starts,omitempty"`     // of them, so far
	Invocation string   `json:"invocation,omitempty"` // systemd's ID of the last start that was counted
	Before     Snapshot `json:"before"`

	Why  string   `json:"why,omitempty"`
	Log  []string `json:"log,omitempty"` // last lines of the failed release
	Told bool     `json:"told,omitempty"`

	// Failures counts how often each commit did not become ready.
	Failures map[string]int `json:"failures,omitempty"`
}

// maxRecord and maxFailures bound what is read and stored.
const (
	maxRecord   = 1 << 20
	maxFailures = 50
)

func (b Base) recordFile() string { return b.path("update.json") }

// Read returns the record of the current or last update; the zero value if there was none.
func (b Base) Read() (Record, error) {
	info, err := os.Stat(b.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	}
	var data []byte
	if err == nil && info.Size() > maxRecord {
		err = fmt.Errorf("it has %d bytes", info.Size())
	}
	if err == nil {
		data, err = os.ReadFile(b.recordFile())
	}
	if err != nil {
		return Record{}, fmt.Errorf("read update record: %w", err)
	}
	return parseRecord(data)
}

func parseRecord(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("read update record: %w", err)
	}
	for _, commit := range []string{r.From, r.To} {
		if commit != "" && !commitName.MatchString(commit) {
			return Record{}, fmt.Errorf("read update record: %q is not a commit", commit)
		}
	}
	return r, nil
}

// Write replaces the record; it is on disk when Write returns.
func (b Base) Write(r Record) error {
	if len(r.Failures) > maxFailures {
		r.Failures = map[string]int{r.To: r.Failures[r.To]}
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = renameio.WriteFile(b.recordFile(), append(data, '\n'), 0o600)
	}
	if err == nil {
		err = syncDir(string(b))
	}
	if err != nil {
		return full(fmt.Errorf("write update record: %w", err), b)
	}
	return nil
}

// fail ends the update, and counts against the release if that caused it.
func (r *Record) fail(phase Phase, why string, log []string, counts bool) {
	r.Phase, r.Why, r.Log, r.Ended, r.Told = phase, why, log, time.Now().UTC(), false
	if counts && r.To != "" {
		if r.Failures == nil {
			r.Failures = map[string]int{}
		}
		r.Failures[r.To]++
	}
}
