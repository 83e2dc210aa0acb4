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

// Phase is how far an update is. The words are on disk.
type Phase string

// The first three belong to the old release, which goes on as if nothing had
// been asked when it is cut off there.
const (
	Asked    Phase = "asked"    // somebody wants it
	Prepared Phase = "prepared" // the new release is built, and passed its trial
	Failed   Phase = "failed"   // it ended before the switch; Why says how

	Switched   Phase = "switched"    // the new release has the state, and is not ready yet
	Failing    Phase = "failing"     // it did not become ready: the old state has to come back
	RolledBack Phase = "rolled back" // the old release has its state again; Why says what for
	Done       Phase = "done"        // the new release was ready
)

// Snapshot is what must be the same before and after an update.
type Snapshot struct {
	Rooms     int    `json:"rooms"`     // with a container
	Container string `json:"container"` // of the room that asked, its ID
	Turns     int    `json:"turns"`     // of conversation, over all rooms
}

// Record is update.json.
type Record struct {
	Phase Phase  `json:"phase"`
	Ref   string `json:"ref,omitempty"`   // as it was asked for; "" = the newest
	Room  string `json:"room,omitempty"`  // where it was asked for; "" = on the command line
	Event string `json:"event,omitempty"` // by which message

	From     string   `json:"from,omitempty"` // commits, 12 digits
	To       string   `json:"to,omitempty"`
	Subjects []string `json:"subjects,omitempty"` // what is new, newest first
	Image    string   `json:"image,omitempty"`    // the sandbox image that was built for it
	State    string   `json:"state,omitempty"`    // STATE_DIR

	Begun    time.Time `json:"begun"`
	Stopped  time.Time `json:"stopped,omitzero"`  // when the old release was told to end
	Switched time.Time `json:"switched,omitzero"` // since then the new one has its time
	Ended    time.Time `json:"ended,omitzero"`

	PID        int      `json:"pid,omitempty"`        // of the new release
	Starts     int      `json:"starts,omitempty"`     // of it, so far
	Invocation string   `json:"invocation,omitempty"` // systemd's name of the last start that was counted
	Before     Snapshot `json:"before"`

	Why  string   `json:"why,omitempty"`
	Log  []string `json:"log,omitempty"` // last lines of the release that failed
	Told bool     `json:"told,omitempty"`

	// Failures counts how often each commit did not become ready.
	Failures map[string]int `json:"failures,omitempty"`
}

// maxRecord and maxFailures bound what is read and kept.
const (
	maxRecord   = 1 << 20
	maxFailures = 50
)

func (b Base) recordFile() string { return b.path("update.json") }

// Read gives the record of the present or last update; the zero value when
// there has been none.
func (b Base) Read() (Record, error) {
	info, err := os.Stat(b.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	}
	var data []byte
	if err == nil && info.Size() > maxRecord {
		err = fmt.Errorf("it holds %d bytes", info.Size())
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
			return Record{}, fmt.Errorf("read update record: %q is no commit", commit)
		}
	}
	return r, nil
}

// Write replaces the record; it is on the disk when Write returns.
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

// fail ends the update, and counts against the release when it was its fault.
func (r *Record) fail(phase Phase, why string, log []string, counts bool) {
	r.Phase, r.Why, r.Log, r.Ended, r.Told = phase, why, log, time.Now().UTC(), false
	if counts && r.To != "" {
		if r.Failures == nil {
			r.Failures = map[string]int{}
		}
		r.Failures[r.To]++
	}
}
