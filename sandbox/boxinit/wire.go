package boxinit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"time"
)

// RunState is the state of a run.
type RunState string

const (
	// RunNone is the state of a run that the container does not know.
	RunNone RunState = "none"
	// RunRunning is the state of a run whose command has not ended.
	RunRunning RunState = "running"
	// RunExited is the state of a run whose command has ended; see Code and Signal.
	RunExited RunState = "exited"
	// RunInterrupted is the state of a run that ended with its container: the container stopped, or the supervisor was
	// killed, before the command had ended.
	RunInterrupted RunState = "interrupted"
)

// File is a file written into the container before a run starts.
type File struct {
	// Path is absolute; missing parent directories are created with mode 0755.
	Path string
	Data []byte
	// Mode is the file's permission bits, 0 = 0644.
	Mode fs.FileMode
	// New writes the file only if nothing exists at Path.
	New bool
}

// RunSpec describes a run: one command, started detached from its caller.
type RunSpec struct {
	// ID names the run, 1 to 64 letters, digits, "_" and "-". The caller chooses it; the same ID is the same run.
	ID string
	// Argv is the command, looked up in the PATH of the container if it has no slash.
	Argv []string
	// Env is the command's environment on top of the container's, "KEY=value" each.
	Env []string
	// Dir is the working directory of the command, "" = /workspace.
	Dir string
	// Files are written before the command starts.
	Files []File
	// Remove names files that are removed before the command starts, if no other run is active in the container.
	Remove []string
	// Without names files that must not exist. If one does (a regular file that is not empty), nothing is started: see
	// [Answer].
	Without []string
	// Forget names earlier runs whose records are no longer needed. Those that have ended are removed.
	Forget []string
	// Watch names files whose growth the status reports.
	Watch []string
	// Input is the command's standard input; nil is empty.
	Input []byte
	// Warm is for a parked run. Argv, Env, Dir and Input are for the case that there is none. Any other parked run is
	// discarded.
	Warm *Warm `json:",omitempty"`
	// MaxOutput bounds the stored stdout, in bytes; 0 = [DefaultMaxOutput]. Of everything beyond it, only the last 256
	// KiB are kept.
	MaxOutput int64
}

// Warm describes how a run continues a parked one.
type Warm struct {
	// Key is the one of [Parking]. If a run is parked with it and may still be used, it becomes the new run.
	Key string
	// Input is what it then reads.
	Input []byte
}

// Parking describes a run that is started before it is needed. Its command initializes and then waits for its input. It
// is not known as a run before a [RunSpec] with its key continues it. There is at most one in a container; a container
// with an active run has none.
type Parking struct {
	// Run is the run without its input. Its ID only marks the processes.
	Run RunSpec
	// Key stands for everything that the run is started with. A digest, for example.
	Key string
	// For is how long the run waits at most. It is discarded then.
	For time.Duration
	// Facts are what must not have changed when the run is used.
	Facts Facts
}

// Facts select what of a container's files counts.
type Facts struct {
	// Tree is a folder in which the names, sizes and times of all files count, at every depth. A link counts with the size
	// and time of the file that it leads to.
	Tree string
	// Skip are names of folders in Tree whose content does not count.
	Skip []string
	// Files are paths of files whose content counts, or of folders in which the contents of all files count. A link counts
	// with what it leads to, be it a file or everything in a folder.
	Files []string
}

// Watched says how a file of RunSpec.Watch changed during the run.
type Watched struct {
	Path string
	// Before and After are sizes in bytes at the start and now (or at the end); -1 if there is no such regular file.
	Before, After int64
	// Absent says that nothing exists at Path now (or at the end), not even a folder or a link.
	Absent bool
	// Tail is the end of the file, at most 4 KiB, as valid UTF-8.
	Tail string
}

// RunStatus is what the container knows about a run.
type RunStatus struct {
	State RunState
	// Code is the exit code once State is RunExited, or 128 + signal number if a signal ended the command.
	Code int
	// Signal is the name of the signal that ended the command ("killed", "terminated", …), or "".
	Signal string
	// OOM says that the kernel killed a process of the container during the run because memory ran out. It is also
	// false if the counter cannot be read.
	OOM bool
	// Size is the number of bytes of stdout stored so far.
	Size int64
	// Stderr is the end of the command's stderr, at most 4 KiB, as valid UTF-8.
	Stderr string
	Watch  []Watched
	// Warm says that the run continues a parked one.
	Warm bool `json:",omitempty"`
	// Left says that runs which have ended, this one or others, may have left processes running. It is false until the run
	// has ended, and may be true for a moment after that although nothing is left: the supervisor has yet to end.
	Left bool `json:",omitempty"`
	// Started and Ended are in the container's clock. Ended is zero until the run has ended.
	Started, Ended time.Time
}

// Left is a process that a run has left running.
type Left struct {
	PID     int
	Command string    // at most 200 bytes, on one line
	Ports   []int     // TCP ports on which it listens, at most 8
	Since   time.Time // when it was started, by the container's clock
}

// Op is what a [Request] wants.
type Op string

// The operations. A reply to each of them ends it; a run that is followed has one before its output, too.
const (
	OpRun     Op = "run"    // starts Run; with Follow, its output follows, and its status
	OpFollow  Op = "follow" // the output of run ID from Offset on, and its status
	OpPark    Op = "park"   // parks a run; without a key, discards the parked one
	OpStatus  Op = "status"
	OpStop    Op = "stop"
	OpRemove  Op = "remove"
	OpLeft    Op = "left"    // lists what ended runs have left running
	OpEndLeft Op = "endleft" // ends that
	OpExec    Op = "exec"    // Command, with the input that follows
	OpWrite   Op = "write"   // a file of Size bytes, which follow
	OpRead    Op = "read"    // the first Size bytes of a regular file

	OpLook      Op = "look"      // what is at Name in the workspace
	OpDownload  Op = "download"  // the first Size bytes of a file there
	OpUpload    Op = "upload"    // a new file there, which follows
	OpProcesses Op = "processes" // lists all processes
	OpDial      Op = "dial"      // after the reply, the connection is one with Port
)

// Request is one operation: the first frame of a connection.
type Request struct {
	Op Op
	// Strength is what the container must be like for a run to be started or parked, a [Strength] in JSON.
	Strength string   `json:",omitempty"`
	Run      *RunSpec `json:",omitempty"`
	Park     *Parking `json:",omitempty"`
	Command  *Command `json:",omitempty"`
	ID       string   `json:",omitempty"` // of a run
	Path     string   `json:",omitempty"` // of a file
	Offset   int64    `json:",omitempty"`
	Size     int64    `json:",omitempty"`
	Follow   bool     `json:",omitempty"`
	Name     []byte   `json:",omitempty"` // a path in the workspace, which need not be UTF-8
	Port     int      `json:",omitempty"` // TCP
}

// Command is a command that is waited for.
type Command struct {
	Argv []string
	// Env is the environment on top of the container's, "KEY=value" each.
	Env []string
	Dir string
	// MaxOutput bounds stdout and stderr, in bytes each. The rest is dropped.
	MaxOutput int64
	// Whole says that the output counts up to its last byte: it is waited for, also if the caller reads slowly, or if
	// something that the command has left running keeps it open.
	Whole bool `json:",omitempty"`
}

// Reply is the outcome of an operation.
type Reply struct {
	// Error says why it failed, "" if it did not. Missing says that a file does not exist.
	Error   string `json:",omitempty"`
	Missing bool   `json:",omitempty"`
	// Weak says in what the container is weaker than it must be, "" if in nothing; if it is, no run was started.
	Weak string `json:",omitempty"`
	// Present is the first file of RunSpec.Without that exists, "" = none; if there is one, the run was not started.
	Present string `json:",omitempty"`
	// Existed says that a run with this ID already existed and was left alone.
	Existed bool `json:",omitempty"`
	// Until is when a run that was parked ends.
	Until time.Time `json:",omitzero"`
	// Code is a command's exit code, or 128 + signal number if a signal ended it. Truncated says that a stream was cut at
	// MaxOutput.
	Code      int  `json:",omitempty"`
	Truncated bool `json:",omitempty"`

	Status *RunStatus `json:",omitempty"`
	Left   few[Left]  `json:",omitempty"`

	Found     *Found       `json:",omitempty"`
	Processes few[Process] `json:",omitempty"`
	More      bool         `json:",omitempty"` // there are more processes
}

// few is a list of which no more is read than there may be: a process of the container may have written it.
type few[T any] []T

// UnmarshalJSON reads the first maxEntries.
func (f *few[T]) UnmarshalJSON(data []byte) error {
	list := json.NewDecoder(bytes.NewReader(data))
	switch first, err := list.Token(); {
	case err != nil || first == nil: // null
		return err
	case first != json.Delim('['):
		return errors.New("a list is something else")
	}
	for *f = nil; len(*f) < maxEntries && list.More(); {
		var one T
		if err := list.Decode(&one); err != nil {
			return err
		}
		*f = append(*f, one)
	}
	return nil
}

// Failed reports whether the operation was not carried out.
func (r Reply) Failed() bool { return r.Weak != "" || r.Present != "" || r.Error != "" }

// Bounded returns the reply with nothing longer than boxinit makes it: a process of the container may have written it.
func (r Reply) Bounded() Reply {
	r.Error, r.Weak, r.Present = clip(r.Error, maxPath), clip(r.Weak, maxPath), clip(r.Present, maxPath)
	r.Left, r.Processes = BoundedLeft(r.Left), BoundedProcesses(r.Processes)
	if r.Found != nil {
		found := r.Found.bounded()
		r.Found = &found
	}
	if r.Status != nil {
		status := r.Status.Bounded()
		r.Status = &status
	}
	return r
}

// DefaultMaxOutput is the bound of a run's stored stdout if RunSpec has none.
const DefaultMaxOutput int64 = 64 << 20

// Environment variable that marks every process of a run with the run's ID.
const RunVariable = "MATRIX_TUI_RUN"

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckID returns an error if id cannot name a run. It is the only check between an ID and a path in the container.
func CheckID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("run ID %q: want 1 to 64 letters, digits, _ and -", id)
	}
	return nil
}

// Check returns an error if the request is invalid, before anything is written.
func (r RunSpec) Check() error {
	if err := CheckID(r.ID); err != nil {
		return err
	}
	if len(r.Argv) == 0 || r.Argv[0] == "" {
		return fmt.Errorf("run %s: no command", r.ID)
	}
	for _, f := range r.Files {
		if len(f.Path) == 0 || f.Path[0] != '/' {
			return fmt.Errorf("run %s: file %q: want an absolute path", r.ID, f.Path)
		}
	}
	return nil
}
