package container

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/sandbox"
)

// lookLeft bounds the question what earlier tasks have left running.
const lookLeft = 5 * time.Second

// Left returns lines about what earlier tasks have left running, for the prompt. It does not ask a container of which
// it knows that nothing is left.
func (s *Sandbox) Left(ctx context.Context, container *sandbox.Container) []string {
	if s.noneLeft.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookLeft)
	defer cancel()
	list, err := container.Left(ctx)
	if err != nil {
		s.shared.Log.Warn().Err(err).Str("room", s.room).Msg("cannot list what earlier tasks have left running")
		return nil
	}
	s.noneLeft.Store(len(list) == 0)
	var lines []string
	for _, one := range list {
		lines = append(lines, fmt.Sprintf("process %d: %s", one.PID, LeftLine(one.Command, one)))
	}
	return lines
}

// MayLeave notes that a run may have left something running.
func (s *Sandbox) MayLeave() { s.noneLeft.Store(false) }

// LeftLine describes a process that a task has left running, with its command as it is to be shown.
func LeftLine(command string, left sandbox.Left) string {
	line := command
	for i, port := range left.Ports {
		if i == 0 {
			line += ", port"
		}
		line += fmt.Sprintf(" %d", port)
	}
	return strings.TrimPrefix(line+", since "+left.Since.Local().Format("2006-01-02 15:04 MST"), ", ")
}
