// Package alert watches what the host can run short of: disk, memory, the model's quota. It decides what to tell the
// owners and when, and tells them without the journal. It never changes the host.
package alert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/capacity"
	"matrix-tui/bot/text"
)

// alertKind is a resource of the host that can run short.
type alertKind string

// The kinds, as written in alerts.json.
const (
	alertState   alertKind = "state"   // disk of the state folder
	alertStorage alertKind = "storage" // disk of podman's storage, if it is a different one
	alertMemory  alertKind = "memory"
	alertQuota   alertKind = "quota" // of the model
)

const (
	alertPause = 6 * time.Hour // between two alerts of a kind

	lowDisk               = 1 << 30              // free bytes; well is half as much again
	lowMemory, wellMemory = 200 << 20, 400 << 20 // available bytes
	lowQuota              = 3                    // consecutive refusals; one success ends them
	longQuota             = 15 * time.Minute     // until the quota returns
)

// reading is the current level of one resource. low means short, well means no longer short; if neither is set, the
// last report still holds.
type reading struct {
	kind      alertKind
	low, well bool
	now       string // the level, such as "2.1 GB free"
	mend      string // what to do if it is low
	stops     bool   // no task starts: owners are told, even if no room is set
}

// diskReading reads what is left on a disk. Below reserve, no task starts.
func diskReading(kind alertKind, what, path string, free capacity.Space, reserve uint64) reading {
	const helps = "`podman system df` and `podman image prune` on the host help most; `matrix-tui rooms -space` shows " +
		"which rooms take the most."
	least := max(lowDisk, reserve)
	few := free.Files < free.LeastFiles
	r := reading{
		kind: kind, low: free.Bytes < least || few, stops: free.Low(reserve),
		well: free.Bytes >= least+least/2 && free.Files >= free.LeastFiles+free.LeastFiles/2,
		now:  fmt.Sprintf("the disk of %s (%s) has %s free", what, text.Code(path), text.Size(int64(free.Bytes))),
		mend: "Free some space, or tasks will fail and messages will wait: " + helps,
	}
	switch {
	case few:
		r.now += fmt.Sprintf(", and only %d more files can be created there", free.Files)
		r.mend = fmt.Sprintf("It needs %d (`df -i` shows them as inodes), and %s: delete many small files, such as those "+
			"of rooms that I have left (`matrix-tui rooms -remove-left`), or use a file system with more inodes.",
			free.LeastFiles, text.Size(int64(least)))
		if r.stops {
			r.mend = "No task starts until then. " + r.mend
		}
	case r.stops:
		r.mend = "No task starts until " + text.Size(int64(reserve)) + " is free (DISK_RESERVE): " + helps
	}
	return r
}

// memoryReading reads the bytes of available memory.
func memoryReading(available uint64) reading {
	return reading{
		kind: alertMemory, low: available < lowMemory, well: available >= wellMemory,
		now: "the host has " + text.Size(int64(available)) + " of memory available",
		mend: "Fewer tasks at once (MAX_PARALLEL_TASKS) or smaller containers (SANDBOX_MEMORY) need less; otherwise the " +
			"kernel kills the largest process.",
	}
}

// quotaReading reads how many consecutive requests the model's server has refused, and for how long it will.
func quotaReading(refused int, wait time.Duration) reading {
	now := "the model answers"
	if refused > 0 {
		now = fmt.Sprintf("the model rejects requests because a quota is exhausted (the last %d)", refused)
	}
	return reading{
		kind: alertQuota, low: refused >= lowQuota || wait > longQuota, well: refused == 0, now: now,
		mend: "Tasks wait until the quota returns. To change that, raise it with the API key's provider, or set another " +
			"GEMINI_MODEL.",
	}
}

// alerts is the content of alerts.json: where alerts go, and which were sent.
type alerts struct {
	Room string                  `json:"room,omitempty"` // set by `!alerts here`; "": as in the settings
	Off  bool                    `json:"off,omitempty"`  // by `!alerts off`
	Told map[alertKind]toldAlert `json:"told,omitempty"`
	// Notes are to be sent, once there is a room for them.
	Notes []string `json:"notes,omitempty"`
}

const maxNotes = 20

// note adds a note, unless the same one waits already. If there are too many, the oldest go.
func (a alerts) note(text string) alerts {
	if slices.Contains(a.Notes, text) {
		return a
	}
	a.Notes = append(slices.Clone(a.Notes), text)
	a.Notes = a.Notes[max(0, len(a.Notes)-maxNotes):]
	return a
}

// toldAlert is the newest alert of a kind.
type toldAlert struct {
	At   time.Time `json:"at"`
	Open bool      `json:"open"` // the all-clear has not been sent yet
}

// decide returns what to report: each kind that is low, at most once per alertPause, and each reported kind that is
// back to normal, once. next is the new content of alerts.json, to be stored once the report is sent.
func (a alerts) decide(now time.Time, readings []reading) (short, over []reading, next alerts) {
	next = a
	next.Told = maps.Clone(a.Told)
	for _, r := range readings {
		told, known := a.Told[r.kind]
		switch {
		case r.low && (!known || now.Sub(told.At) >= alertPause || told.At.After(now)):
			// an alert from the future, because the clock was set back, does not silence us
			short = append(short, r)
			told, known = toldAlert{At: now, Open: true}, true
		case r.well && told.Open:
			over = append(over, r)
			told.Open = false
		}
		if known {
			if next.Told == nil {
				next.Told = map[alertKind]toldAlert{}
			}
			next.Told[r.kind] = told
		}
	}
	return short, over, next
}

// alertText is the message about what is short and what no longer is.
func alertText(short, over []reading) string {
	var lines []string
	for _, r := range short {
		lines = append(lines, "⚠️ Running short: "+r.now+". "+r.mend)
	}
	for _, r := range over {
		lines = append(lines, "✅ Back to normal: "+r.now+".")
	}
	return strings.Join(lines, "\n\n")
}

// standing describes the current state in one sentence.
func standing(readings []reading) string {
	parts := make([]string, 0, len(readings))
	for _, r := range readings {
		parts = append(parts, r.now)
	}
	if len(parts) == 0 {
		return "The host's state is unknown at the moment."
	}
	return strings.ToUpper(parts[0][:1]) + strings.Join(parts, "; ")[1:] + "."
}
