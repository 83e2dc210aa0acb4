package boxinit

import (
	"fmt"
	"io/fs"
	"regexp"
	"time"
)

// RunState says how far a run has come.
type RunState string

const (
	// RunNone is the state of a run that the container does not know.
	RunNone RunState = "none"
	// RunRunning is the state of a run whose command has not ended.
	RunRunning RunState = "running"
	// RunExited is the state of a run whose command has ended; Code and Signal
	// say how.
	RunExited RunState = "exited"
	// RunInterrupted is the state of a run that the container itself took down: it was
	// stopped, or its supervisor was killed, before the command had ended.
	RunInterrupted RunState = "interrupted"
)

// File is a file written into the container before a run starts.
type File struct {
	// Path is absolute; missing directories above it are made with mode 0755.
	Path string
	Data []byte
	// Mode is the file's permission bits, 0 = 0644.
	Mode fs.FileMode
	// New writes the file only when nothing is at Path.
	New bool
}

// RunSpec describes a run: one command, started detached from its caller.
type RunSpec struct {
	// ID names the run, 1 to 64 letters, digits, "_" and "-". The caller chooses
	// it; the same ID again is the same run.
	ID string
	// Argv is the command, looked up on the PATH of Env when it has no slash.
	Argv []string
	// Env is the command's environment on top of the container's, "KEY=value" each.
	Env []string
	// Dir is where the command starts, "" = /workspace.
	Dir string
	// Files are written before the command starts.
	Files []File
	// Remove names files that are removed before the command starts, when no
	// other run is alive in the container.
	Remove []string
	// Without names files that the caller believes are not there. Where one is (a
	// regular file that is not empty), nothing is started: see [Answer].
	Without []string
	// Watch names files whose growth the status tells.
	Watch []string
	// MaxOutput bounds the kept stdout, in bytes; 0 = [DefaultMaxOutput]. What
	// comes after it is dropped but for the last 256 KiB.
	MaxOutput int64
}

// Watched tells how a file of RunSpec.Watch changed while the run ran.
type Watched struct {
	Path string
	// Before and After are sizes in bytes at the start and now (or at the end);
	// -1 where there is no such regular file.
	Before, After int64
	// Tail is the end of the file, at most 4 KiB, as valid UTF-8.
	Tail string
}

// RunStatus is what the container knows about a run.
type RunStatus struct {
	State RunState
	// Code is the exit code once State is RunExited, 128 + signal number where a
	// signal ended the command.
	Code int
	// Signal is the name of the signal that ended the command ("killed",
	// "terminated", …), else "".
	Signal string
	// OOM says that the kernel killed a process of the container for want of memory
	// while the run ran. False also where the counter cannot be read.
	OOM bool
	// Size is the number of bytes of stdout kept so far.
	Size int64
	// Stderr is the end of the command's stderr, at most 4 KiB, as valid UTF-8.
	Stderr string
	Watch  []Watched
	// Started and Ended are by the container's clock, Ended zero while it runs.
	Started, Ended time.Time
}

// Answer is what `boxinit run` prints: one JSON object on stdout.
type Answer struct {
	// Existed says that a run of this ID was there already and was left as it is.
	Existed bool
	// Present is the first file of RunSpec.Without that is there after all, ""
	// for none; the run was not started then.
	Present string
	// Error says why the run could not be started, "" if it was.
	Error string
}

// DefaultMaxOutput is the bound of a run's kept stdout where RunSpec has none.
const DefaultMaxOutput int64 = 64 << 20

// Environment variable that marks every process of a run with the run's ID.
const RunVariable = "MATRIX_TUI_RUN"

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckID says whether id can name a run. It is the only guard between an ID and
// a path in the container.
func CheckID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("run ID %q: want 1 to 64 letters, digits, _ and -", id)
	}
	return nil
}

// Check says what makes the request impossible, before anything is written.
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
