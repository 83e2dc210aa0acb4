package agent

import (
	"strings"
	"testing"

	"matrix-tui/sandbox"
)

func TestStreamFlood(t *testing.T) {
	for name, c := range map[string]struct {
		piece string
		times int
	}{
		"bytes":  {strings.Repeat("x", 1<<20), maxRun>>20 + 1},
		"lines":  {strings.Repeat("\n", 1<<10), maxLines>>10 + 1},
		"events": {strings.Repeat(`{"type":"tool_use"}`+"\n", 1<<8), maxEvents>>8 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			events := 0
			s := &stream{emit: func(Event) { events++ }}
			for i := range c.times {
				if s.flooded {
					t.Fatalf("after %d of %d pieces", i, c.times)
				}
				s.Write([]byte(c.piece))
			}
			if !s.flooded {
				t.Error("it is not noticed")
			}
			before := events
			s.Write([]byte(`{"type":"tool_use"}` + "\n" + `{"type":"result","status":"success"}` + "\n"))
			if events != before || events > maxEvents || s.result != nil || len(s.line) > 0 {
				t.Errorf("%d events, then %d, result %v", before, events, s.result)
			}
		})
	}
}

// A program that the agent has put in the place of the CLI, and that prints without end,
// is stopped.
func TestRealFlood(t *testing.T) {
	r := newReal(t)
	flood := sandbox.RunSpec{ID: "flood", Argv: []string{"yes", `{"type":"tool_use","tool_name":"x"}`}}
	if _, err := r.container.StartRun(t.Context(), flood); err != nil {
		t.Fatal(err)
	}
	o, events := r.do(t, Task{Run: "flood", Attached: true})
	if o.Ended != Crashed || !strings.Contains(o.Detail, "printed more") || len(events) > maxEvents {
		t.Errorf("%d events, %+v", len(events), o)
	}
	if st, err := r.container.RunStatus(t.Context(), "flood"); err != nil || st.State == sandbox.RunRunning {
		t.Errorf("%+v, %v", st, err)
	}
}
