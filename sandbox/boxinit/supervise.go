package boxinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// stderrKept is how many bytes are kept of the beginning of stderr; of the rest, the end is kept.
const stderrKept = 64 << 10

// supervise is the process that owns one run. It is a subreaper, so everything the run starts stays its descendant,
// daemons included. It lives until the last of them is gone; the run itself ends with its command.
func supervise(s store, id string) error {
	unix.CloseOnExec(fdLock)
	unix.CloseOnExec(fdReady)
	reserveThreads()
	if err := noStderr(); err != nil {
		return err
	}
	ready := os.NewFile(fdReady, "ready")
	var order Parking
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		return err
	}
	os.Stdin.Close()
	spec := order.Run
	run, err := begin(s, order)
	answer := Reply{}
	if err != nil {
		answer.Error = err.Error()
	}
	// If the caller is gone, the command has been executed all the same.
	_ = json.NewEncoder(ready).Encode(answer)
	ready.Close()
	if run == nil {
		return nil
	}
	if run.parked {
		go run.await()
	} else if run.stdin != nil {
		go feed(run.stdin, spec.Input)
	}
	return run.wait()
}

// noStderr ends what the caller reads from this process's stderr: from now on, the command may have been executed.
func noStderr() error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	return unix.Dup3(int(null.Fd()), unix.Stderr, 0)
}

// supervised is a run as its supervisor sees it.
type supervised struct {
	store  store
	dir    *os.Root // of the run, also after it was renamed
	parked bool     // it was started before it was needed
	record supervisorRecord
	main   int      // PID of the command
	stdin  *os.File // the command's; nil if it has none
	// The command's streams, and the files in which they are kept.
	stdout, stderr         *pump
	out, errs              *output
	outputFile, errorsFile *os.File
}

// begin executes the command.
func begin(s store, order Parking) (*supervised, error) {
	dir, err := os.OpenRoot(s.run(order.folder()))
	if err != nil {
		return nil, err
	}
	r, spec := &supervised{store: s, dir: dir, parked: order.For > 0}, order.Run
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become subreaper: %w", err)
	}
	// A signal meant for the command must not kill its supervisor. Notify, not Ignore: children would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	self, err := processOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	r.record = supervisorRecord{PID: self.pid, Ticks: self.ticks, Mark: spec.ID}
	if err := writeIn(dir, "supervisor.json", r.record); err != nil {
		return nil, err
	}
	if r.outputFile, err = dir.OpenFile("out", os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return nil, err
	}
	if r.errorsFile, err = dir.OpenFile("err", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, err
	}
	r.out, r.errs = newOutput(r.outputFile, spec.MaxOutput), newOutput(r.errorsFile, stderrKept)
	if r.stdout, err = newPump(r.out); err != nil {
		return nil, err
	}
	if r.stderr, err = newPump(r.errs); err != nil {
		return nil, err
	}
	stdin, err := os.Open(os.DevNull)
	if err == nil && (r.parked || len(spec.Input) > 0) {
		stdin.Close()
		stdin, r.stdin, err = os.Pipe()
	}
	if err != nil {
		return nil, err
	}
	r.main, err = execute(spec, stdin, r.stdout.in, r.stderr.in)
	stdin.Close()
	r.stdout.in.Close()
	r.stderr.in.Close()
	if err != nil {
		return nil, err
	}
	// If memory runs out, the kernel must kill the command rather than its supervisor or PID 1, and a parked one first.
	r.killFirst(500)
	if r.parked {
		r.killFirst(1000)
		r.record.Main = r.main
		if err := writeIn(dir, "supervisor.json", r.record); err != nil {
			return nil, err
		}
	}
	go r.stdout.run()
	go r.stderr.run()
	return r, nil
}

// wait reaps everything that the run started. When the command has ended, it records how; when the last process is
// gone, it returns.
func (r *supervised) wait() error {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return err
		case pid == r.main && (ws.Exited() || ws.Signaled()):
			if err := r.end(ws); err != nil {
				return err
			}
			debug.FreeOSMemory() // a daemon may keep this process alive for days
		}
	}
}

// end saves the rest of the command's output and records how the command ended.
func (r *supervised) end(ws unix.WaitStatus) error {
	if r.parked && r.unused() {
		return nil
	}
	r.stdout.drain()
	r.stderr.drain()
	_, _ = r.out.finish(), r.errs.finish() // the end must be recorded even if the disk is full
	var begin beginRecord
	if err := readIn(r.dir, "begin.json", &begin); err != nil {
		return err
	}
	end := endRecord{
		Code:  ws.ExitStatus(),
		OOM:   oomKills() > begin.OOMKills,
		Ended: time.Now(),
		Watch: look(begin.Watch),
	}
	if ws.Signaled() {
		end.Code, end.Signal = 128+int(ws.Signal()), ws.Signal().String()
	}
	if err := writeIn(r.dir, "end.json", end); err != nil {
		return err
	}
	keepLists("", packageLists)
	// After the record, so that a follower need not wait for the disk. A power failure before this line leaves an
	// interrupted run.
	_ = r.outputFile.Sync()
	if f, err := r.dir.Open("end.json"); err == nil {
		_ = f.Sync()
		f.Close()
	}
	return errors.Join(r.outputFile.Close(), r.errorsFile.Close())
}
