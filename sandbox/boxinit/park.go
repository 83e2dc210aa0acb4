package boxinit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// parkedRun is the name of the folder of the parked run. No run has such an ID.
	parkedRun = "parked.run"
	// handTime bounds how long a supervisor takes to hand over the input.
	handTime = 2 * time.Second
	handPoll = time.Millisecond
)

// parkedRecord is what a run may be continued with.
type parkedRecord struct {
	Key   string
	Until time.Time
	Facts Facts
	Print string // of Facts
}

// park parks a run, or lets the one that is parked with the same key wait longer. Without a key, it discards the parked
// run. It fails if a run is active.
func (s store) park(order Parking, self []string) (answer Reply, err error) {
	if order.Key == "" {
		gate, err := s.gate()
		if err != nil {
			return answer, err
		}
		defer gate.Close()
		return answer, s.discard()
	}
	if err := order.Run.Check(); err != nil {
		return answer, err
	}
	if order.For <= 0 {
		return answer, fmt.Errorf("park run %s: no time", order.Run.ID)
	}
	gate, err := s.gate()
	if err != nil {
		return answer, err
	}
	defer gate.Close()
	rec := parkedRecord{Key: order.Key, Until: time.Now().Add(order.For), Facts: order.Facts}
	answer.Until = rec.Until
	if old := (parkedRecord{}); s.usable(order.Key, &old) {
		old.Until, answer.Existed = rec.Until, true
		return answer, writeJSON(s.file(parkedRun, "parked.json"), old)
	}
	if err := s.discard(); err != nil {
		return answer, err
	}
	if active := s.alive(); len(active) > 0 {
		return answer, fmt.Errorf("park run: run %s is active", active[0])
	}
	if err := absent(order.Run.Without); err != nil {
		return answer, err
	}
	s.prune(keepRuns-1, keepBytes)
	if err := os.Mkdir(s.run(parkedRun), 0o700); err != nil {
		return answer, err
	}
	if _, err := s.launch(order, &rec, self); err != nil {
		return answer, errors.Join(err, s.discard())
	}
	return answer, nil
}

// parkedUntil returns when the parked run ends on its own, or zero if none is parked.
func (s store) parkedUntil() time.Time {
	var rec parkedRecord
	if !s.waits(&rec) {
		return time.Time{}
	}
	return rec.Until
}

// waits reads the record of the parked run, and reports whether that still waits.
func (s store) waits(rec *parkedRecord) bool {
	return readJSON(s.file(parkedRun, "parked.json"), rec) == nil && time.Now().Before(rec.Until) &&
		held(s.file(parkedRun, "lock"))
}

// usable reads the record of the parked run, and reports whether a run with this key may continue it.
func (s store) usable(key string, rec *parkedRecord) bool {
	var sup supervisorRecord
	if !s.waits(rec) || rec.Key != key || readJSON(s.file(parkedRun, "supervisor.json"), &sup) != nil {
		return false
	}
	for _, pid := range []int{sup.PID, sup.Main} {
		if p, err := processOf(pid); err != nil || p.dead || p.stopped {
			return false
		}
	}
	now, err := rec.Facts.print()
	return err == nil && now == rec.Print
}

// takeOver makes the parked run the one that is described by spec. It reports false, after it has discarded the parked
// run, if that may not be used.
func (s store) takeOver(spec RunSpec) (bool, error) {
	if rec := (parkedRecord{}); spec.Warm == nil || !s.usable(spec.Warm.Key, &rec) {
		return false, s.discard()
	}
	if err := writeFiles(spec.Files); err != nil {
		return false, err
	}
	if err := os.WriteFile(s.file(parkedRun, "input"), spec.Warm.Input, 0o600); err != nil {
		return false, err
	}
	begin := beginOf(spec)
	begin.Warm = true
	if err := writeJSON(s.file(parkedRun, "begin.json"), begin); err != nil {
		return false, err
	}
	// From here on it is that run. Its supervisor notices, and needs nobody else.
	if err := os.Rename(s.run(parkedRun), s.run(spec.ID)); err != nil {
		return false, err
	}
	for begun := time.Now(); time.Since(begun) < handTime; time.Sleep(handPoll) {
		if _, err := os.Lstat(s.file(spec.ID, "input")); errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(s.file(spec.ID, "parked.json"))
			return true, nil
		}
		if status, err := s.status(spec.ID); err == nil && status.State != RunRunning {
			break
		}
	}
	// It has died, or does not react.
	if err := s.kill(spec.ID); err != nil {
		return false, err
	}
	if _, err := os.Lstat(s.file(spec.ID, "input")); errors.Is(err, os.ErrNotExist) {
		return true, nil // it did get its input
	}
	return false, os.RemoveAll(s.run(spec.ID))
}

// discard ends the parked run and forgets it. The caller holds the gate.
func (s store) discard() error {
	if _, err := os.Lstat(s.run(parkedRun)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// If the record is damaged while the supervisor lives, that notices that its folder is gone, and ends the run.
	if err := s.kill(parkedRun); err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	return os.RemoveAll(s.run(parkedRun))
}

var errDamaged = errors.New("the record of its supervisor is damaged")

// kill kills a run and its supervisor at once, without a record of its end, and returns when they are gone.
func (s store) kill(id string) error {
	var sup supervisorRecord
	if err := readJSON(s.file(id, "supervisor.json"), &sup); err != nil {
		if errors.Is(err, os.ErrNotExist) || !held(s.file(id, "lock")) { // a power failure, for example
			return nil
		}
		return fmt.Errorf("kill run %s: %w: %w", id, errDamaged, err)
	}
	if !sup.kill(cmp.Or(sup.Mark, id), true) {
		return fmt.Errorf("kill run %s: processes are still running after %s", id, stopLimit)
	}
	return nil
}
