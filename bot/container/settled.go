package container

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// Settle notes that the output of a run is no longer needed.
func (s *Sandbox) Settle(run string) { s.settled.add(run) }

// Settled returns the runs whose output the container is to forget, once.
func (s *Sandbox) Settled() []string { return s.settled.take() }

// settledRuns are runs whose output is no longer needed. The container forgets them when the next run starts, because a
// command just for that takes as long as a start; those of a process that has ended, when it has too many.
type settledRuns struct {
	mu  sync.Mutex
	ids []string
}

// maxSettled bounds the list: a room's container may not start a run for a long time.
const maxSettled = 100

// add adds a run.
func (s *settledRuns) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids = append(s.ids, id); len(s.ids) > maxSettled {
		s.ids = s.ids[1:]
	}
}

// take empties the list.
func (s *settledRuns) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.ids
	s.ids = nil
	return ids
}

// WriteStatus adds the task's entry to status.md unless that was done before a restart: then
// the file does not have its size after the run any more, or contains the entry near its
// end if that size is -1. The agent controls the path, so anything but a regular file is an error.
func WriteStatus(ctx context.Context, container *sandbox.Container, rec state.Task) error {
	const script = `[ ! -L "$1" ] && { [ ! -e "$1" ] || [ -f "$1" ]; } || exit 3
if [ "$3" -lt 0 ]; then
	[ ! -e "$1" ] || ! tail -c 65536 -- "$1" | tr '\n' '\001' | grep -qF -- "$(printf %s "$2" | tr '\n' '\001')" || exit 0
else
	[ "$(stat -c %s -- "$1" 2>/dev/null || echo 0)" -le "$3" ] || exit 0
fi
printf %s "$2" >> "$1"`
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: []string{
		"sh", "-c", script, "sh", workspace.StatusPath, rec.StatusLine, strconv.FormatInt(rec.StatusSize, 10),
	}})
	if err != nil {
		return fmt.Errorf("write status.md: %w", err)
	}
	if res.Code != 0 {
		return fmt.Errorf("write status.md: exit %d", res.Code)
	}
	return nil
}
