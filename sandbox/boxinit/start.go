package boxinit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// started returns the reply to a request to start a run.
func (s store) started(spec RunSpec, self []string) Reply {
	existed, err := s.start(spec, self)
	if there := (presentError{}); errors.As(err, &there) {
		return Reply{Present: there.path}
	}
	return replyOf(Reply{Existed: existed}, err)
}

// presentError says that a file of RunSpec.Without exists.
type presentError struct{ path string }

func (e presentError) Error() string { return e.path + " is there" }

// absent returns an error that names the first of the files that exists.
func absent(paths []string) error {
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return presentError{path}
		}
	}
	return nil
}

// gate is held by whoever starts a run: two callers may use one ID, and prune must not race with a start.
func (s store) gate() (*os.File, error) {
	if err := os.MkdirAll(s.runs(), 0o700); err != nil {
		return nil, err
	}
	return lockFile(s.gateFile(), lockTime)
}

func (s store) gateFile() string { return s.dir + "/lock" }

// start starts a run, unless it already exists. It continues the parked one if it may.
func (s store) start(spec RunSpec, self []string) (existed bool, err error) {
	if err := spec.Check(); err != nil {
		return false, err
	}
	gate, err := s.gate()
	if err != nil {
		return false, err
	}
	defer gate.Close()
	if _, err := os.Stat(s.file(spec.ID, "begin.json")); err == nil {
		return true, nil
	}
	if err := absent(spec.Without); err != nil {
		return false, err
	}
	s.forget(spec.Forget)
	if err := os.RemoveAll(s.run(spec.ID)); err != nil { // left by a start that was cut off
		return false, err
	}
	if warm, err := s.takeOver(spec); err != nil || warm {
		return false, err
	}
	s.prune(keepRuns-1, keepBytes)
	if err := os.Mkdir(s.run(spec.ID), 0o700); err != nil {
		return false, err
	}
	unknown, err := s.launch(Parking{Run: spec}, nil, self)
	if err != nil && !unknown {
		os.RemoveAll(s.run(spec.ID))
	}
	return false, err
}

// writeFiles writes what a run needs.
func writeFiles(files []File) error {
	for _, f := range files {
		if !f.New {
			makeWay(f.Path)
		}
		if err := writeFile(f.Path, bytes.NewReader(f.Data), int64(len(f.Data)), f.Mode, f.New); err != nil {
			return err
		}
	}
	return nil
}

// beginOf is the record of a run that begins now.
func beginOf(spec RunSpec) beginRecord {
	return beginRecord{Started: time.Now(), Watch: measure(spec.Watch), MaxOutput: spec.MaxOutput, OOMKills: oomKills()}
}

// launch prepares the files, records the beginning and starts the supervisor. If unknown is true, the command may have
// been executed despite the error. A run that is parked has a record of that.
func (s store) launch(order Parking, parked *parkedRecord, self []string) (unknown bool, err error) {
	spec, id := order.Run, order.folder()
	if len(s.alive()) == 0 {
		for _, path := range spec.Remove {
			if err := os.RemoveAll(path); err != nil {
				return false, err
			}
		}
	}
	if err := writeFiles(spec.Files); err != nil {
		return false, err
	}
	lock, err := lockFile(s.file(id, "lock"), lockTime)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if err := os.WriteFile(s.file(id, "out"), nil, 0o600); err != nil {
		return false, err
	}
	if parked == nil {
		err = writeJSON(s.file(id, "begin.json"), beginOf(spec))
	} else if parked.Print, err = order.Facts.print(); err == nil { // before the command reads any of it
		err = writeJSON(s.file(id, "parked.json"), parked)
	}
	if err != nil {
		return false, err
	}
	order.Run.Files, order.Run.Remove = nil, nil
	return superviseIn(order, self, lock)
}

// folder is the name of the run's folder.
func (p Parking) folder() string {
	if p.For > 0 {
		return parkedRun
	}
	return p.Run.ID
}

// Descriptors that a supervisor inherits, besides its order on stdin.
const (
	fdLock  = 3
	fdReady = 4
)

// superviseIn starts the supervisor as a separate process, which holds the lock from now on, and waits until it has
// executed the command. What the supervisor prints says why it ended before it could begin.
func superviseIn(order Parking, self []string, lock *os.File) (unknown bool, err error) {
	spec := order.Run
	data, err := json.Marshal(order)
	if err != nil {
		return false, err
	}
	readyOut, ready, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer readyOut.Close()
	var printed bytes.Buffer // nothing once it can begin
	cmd := exec.Command(self[0], append(self[1:len(self):len(self)], "supervise", spec.ID)...)
	cmd.ExtraFiles, cmd.Stdin, cmd.Stderr = []*os.File{lock, ready}, bytes.NewReader(data), &printed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Args[0], cmd.Dir = "boxinit", "/"
	err = cmd.Start()
	ready.Close()
	if err != nil {
		return false, fmt.Errorf("start supervisor: %w", err)
	}
	var answer Reply
	if err := json.NewDecoder(readyOut).Decode(&answer); err != nil {
		_ = cmd.Wait()
		if text := strings.TrimSpace(printed.String()); text != "" {
			return false, fmt.Errorf("supervisor of run %s could not begin: %.500s", spec.ID, text)
		}
		return true, fmt.Errorf("supervisor of run %s ended before it answered: %w", spec.ID, err)
	}
	go func() { _ = cmd.Wait() }() // it may end before this process
	if answer.Error != "" {
		return false, errors.New(answer.Error)
	}
	return false, nil
}
