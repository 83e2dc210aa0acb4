package boxinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// store is the folder of all runs. Each run has a folder of its own in it:
//
//	lock             held (flock) by the run's supervisor while that lives
//	begin.json       written before the command is executed; without it there is no run
//	supervisor.json  who supervises
//	out              stdout, bounded
//	err              stderr, bounded
//	end.json         how the command ended
//	parked.json      only while the run is parked, and named by an ID that no run may have
//	input            what a run that was parked is to read, until it has got it
type store struct{ dir string }

func (s store) runs() string         { return filepath.Join(s.dir, "runs") }
func (s store) run(id string) string { return filepath.Join(s.runs(), id) }
func (s store) file(id, name string) string {
	return filepath.Join(s.run(id), name)
}

// isRemoved reports whether nothing can be created any more where the runs are, because the container's layer is gone.
func isRemoved(s store) bool {
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		var dir string
		if dir, err = os.MkdirTemp(s.dir, "try"); err == nil {
			_ = os.Remove(dir)
		}
	}
	return errors.Is(err, os.ErrNotExist)
}

type beginRecord struct {
	Started   time.Time
	Watch     []Watched
	MaxOutput int64
	OOMKills  int64
	Warm      bool
}

type supervisorRecord struct {
	PID int
	// Ticks is the process's start time since boot, from /proc: together with the PID it identifies one process for
	// good.
	Ticks uint64
	// Mark is what marks the run's processes: its ID, or the one that it was parked with.
	Mark string
	// Main is the PID of a parked run's command.
	Main int `json:",omitempty"`
}

type endRecord struct {
	Code   int
	Signal string
	OOM    bool
	Ended  time.Time
	Watch  []Watched
}

// status returns what is known about a run.
func (s store) status(id string) (RunStatus, error) {
	var begin beginRecord
	err := readJSON(s.file(id, "begin.json"), &begin)
	if errors.Is(err, os.ErrNotExist) {
		return RunStatus{State: RunNone}, nil
	}
	if err != nil {
		return RunStatus{}, fmt.Errorf("read beginning of run %s: %w", id, err)
	}
	status := RunStatus{State: RunInterrupted, Started: begin.Started, Warm: begin.Warm}
	var end endRecord
	switch {
	case readJSON(s.file(id, "end.json"), &end) == nil:
		status.State = RunExited
	case held(s.file(id, "lock")):
		status.State = RunRunning
	case readJSON(s.file(id, "end.json"), &end) == nil: // it ended between the two reads
		status.State = RunExited
	}
	said, _ := tailOf(s.file(id, "err"), stderrShown)
	status.Stderr = validTail(said, stderrShown)
	info, err := os.Stat(s.file(id, "out"))
	if err == nil {
		status.Size = info.Size()
	}
	if status.State == RunExited {
		status.Code, status.Signal, status.OOM = end.Code, end.Signal, end.OOM
		status.Ended, status.Watch = end.Ended, end.Watch
		status.Left = len(s.leftRuns()) > 0
		return status, nil
	}
	status.Watch = look(begin.Watch)
	status.OOM = oomKills() > begin.OOMKills
	if status.State == RunInterrupted && info != nil {
		status.Ended = info.ModTime()
	}
	return status, nil
}

// remove deletes the record of a run that has ended. Without the record, what the run has left could not be found.
func (s store) remove(id string) error {
	status, err := s.status(id)
	if err != nil {
		return err
	}
	if status.State == RunRunning {
		return fmt.Errorf("remove run %s: it still runs", id)
	}
	if held(s.file(id, "lock")) {
		return nil // prune does it later
	}
	return os.RemoveAll(s.run(id))
}

// forget removes the records of those runs that have ended.
func (s store) forget(ids []string) {
	for _, id := range ids {
		if CheckID(id) == nil {
			_ = s.remove(id) // otherwise prune does it later
		}
	}
}

// alive returns the IDs of the runs whose command has not ended.
func (s store) alive() []string {
	entries, _ := os.ReadDir(s.runs())
	var ids []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, err := os.Stat(s.file(e.Name(), "end.json")); err == nil {
			continue
		}
		if held(s.file(e.Name(), "lock")) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

func readJSON(path string, v any) error {
	f, _, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// readIn is readJSON for a file in a folder.
func readIn(dir *os.Root, name string, v any) error {
	data, err := dir.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// writeJSON replaces path atomically, so that a reader sees all of it or nothing.
func writeJSON(path string, v any) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return writeIn(dir, filepath.Base(path), v)
}

// writeIn is writeJSON for a file in a folder.
func writeIn(dir *os.Root, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := dir.WriteFile(name+".new", data, 0o600); err != nil {
		return err
	}
	return dir.Rename(name+".new", name)
}
