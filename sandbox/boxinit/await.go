package boxinit

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// parkedLook is how often a parked run looks whether its time is up, because the clock may have been set. The kernel
// tells it of everything else, and the task that takes it over checks the time as well. On a slow host, each look costs
// a millisecond of processor time, most of it for waking up.
const parkedLook = time.Minute

// await is the parked run's wait for its input. It ends the run when that was discarded, or its time is up.
func (r *supervised) await() {
	changes := newChanges(r.store.runs())
	defer changes.close()
	for r.isParked() {
		var rec parkedRecord
		left := parkedLook
		if err := readIn(r.dir, "parked.json", &rec); err == nil {
			left = min(left, time.Until(rec.Until))
		}
		if left <= 0 {
			r.expire()
			left = tailLook // in case it could not
		}
		changes.wait(left)
	}
	input, err := r.dir.ReadFile("input")
	if err != nil { // it was discarded
		r.record.kill(r.record.Mark, false)
		return
	}
	r.killFirst(500)
	first := min(len(input), 4096) // fits into the pipe
	if _, err := r.stdin.Write(input[:first]); err == nil && r.reads() {
		_ = r.dir.Remove("input")
	}
	feed(r.stdin, input[first:])
}

// readTime is how long a command that has initialized takes at most to read its input. One that still initializes gets
// it later.
const readTime = 300 * time.Millisecond

// reads reports whether the command has read the beginning of its input, or will. It returns false if the command dies:
// a process that is being killed keeps its pipe open for a while.
func (r *supervised) reads() bool {
	for begun := time.Now(); time.Since(begun) < readTime; time.Sleep(handPoll) {
		if left, err := unix.IoctlGetInt(int(r.stdin.Fd()), unix.TIOCINQ); err == nil && left == 0 {
			return true
		}
		if p, err := processOf(r.main); err != nil || p.dead {
			return false
		}
	}
	return true
}

// expire removes the record, unless the run is just being used or has been given more time.
func (r *supervised) expire() {
	gate, err := lockFile(r.store.gateFile(), 0) // who has it may wait for this process
	if err != nil {
		return
	}
	defer gate.Close()
	var rec parkedRecord
	if r.isParked() && readIn(r.dir, "parked.json", &rec) == nil && !time.Now().Before(rec.Until) {
		r.record.kill(r.record.Mark, false)
		_ = os.RemoveAll(r.store.run(parkedRun))
	}
}

// isParked reports whether the run's folder is still that of a parked run.
func (r *supervised) isParked() bool {
	own, err := r.dir.Stat(".")
	if err != nil {
		return false
	}
	parked, err := os.Lstat(r.store.run(parkedRun))
	return err == nil && os.SameFile(own, parked)
}

// unused reports whether the run, whose command has ended, was never used, and forgets it.
func (r *supervised) unused() bool {
	if r.isParked() { // otherwise who uses it may hold the gate, and wait for this process
		gate, err := r.store.gate()
		if err != nil {
			return true
		}
		defer gate.Close()
	}
	if r.isParked() {
		_ = os.RemoveAll(r.store.run(parkedRun))
		return true
	}
	_, err := r.dir.Stat("begin.json")
	return err != nil
}
