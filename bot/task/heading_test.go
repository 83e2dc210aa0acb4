package task

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/agent"
	"matrix-tui/state"
)

const shell = "run_shell_command"

// The notice ends with what the task took; a step that failed and a stop show.
func TestHeading(t *testing.T) {
	out := agent.Outcome{Ended: agent.Completed, Usage: agent.Usage{Total: 1234}, Tools: map[string]int{shell: 3}}
	crashed, stopped := out, out
	crashed.Ended, stopped.Ended = agent.Crashed, agent.Stopped
	for _, c := range []struct {
		name   string
		failed int
		out    agent.Outcome
		want   string
	}{
		{"none failed", 0, out, "✓ 3 steps · 5 s · 1,234 tokens"},
		{"one failed", 1, out, "⚠️ 3 steps, 1 failed · 5 s · 1,234 tokens"},
		{"it ended early", 2, crashed, "✗ 3 steps, 2 failed · 5 s · 1,234 tokens"},
		{"somebody stopped it", 0, stopped, "⏹ Stopped · 3 steps · 5 s · 1,234 tokens"},
		{"somebody stopped it before it began", 0, agent.Outcome{Ended: agent.Stopped}, "⏹ Stopped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := ending{(&Env{}).Task(state.Task{Begun: time.Now().Add(-5500 * time.Millisecond)}), c.out, ""}
			if c.out.Ended == agent.Stopped {
				e.t.rec.StopBy = "@ann:x"
			}
			if diff := cmp.Diff(c.want, e.heading(c.failed)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The time of an approved command during which somebody stopped the task counts, too.
func TestHeadingApproved(t *testing.T) {
	rec := state.Task{Begun: time.Now().Add(-5500 * time.Millisecond), StopBy: "@ann:x"}
	rec.Used, rec.Approved = state.Usage{Steps: 1, Time: 2 * time.Second}, &state.Command{Over: true, Failed: true}
	e := ending{(&Env{}).Task(rec), agent.Outcome{Ended: agent.Stopped}, ""}
	if got, want := e.heading(1), "⏹ Stopped · 1 step, 1 failed · 7 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
