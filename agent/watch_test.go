package agent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The time in these tests is synctest's: nothing really waits.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var slow []time.Duration
		w := newWatch(func(e Event) {
			if e.Kind == EventSlow {
				slow = append(slow, time.Since(start))
			}
		})
		line := func(s string) { w.Write([]byte(s + "\n")) }

		time.Sleep(19 * time.Second)
		line(`{"type":"init"}`)
		time.Sleep(2 * time.Minute) // nothing comes: at 39 s, 99 s
		line(`{"type":"tool_use","tool_name":"run_shell_command","tool_id":"a"}`)
		time.Sleep(5 * time.Minute) // a command works
		line(`{"type":"tool_result","tool_id":"a"}`)
		time.Sleep(21 * time.Second) // and now the model: at 459 s
		w.close()
		time.Sleep(5 * time.Minute)
		if d := cmp.Diff([]time.Duration{39 * time.Second, 99 * time.Second, 459 * time.Second}, slow); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// A tool that prints nothing shows, until it prints.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got []string
		w := newWatch(func(e Event) {
			if e.Kind == EventSilent || e.Kind == EventSlow {
				got = append(got, fmt.Sprintf("%s: %s for %s", time.Since(start), e.Kind, e.Quiet))
			}
		})
		w.Write([]byte(`{"type":"tool_use","tool_name":"run_shell_command","tool_id":"a"}` + "\n"))
		time.Sleep(130 * time.Second)
		w.Write([]byte(`{"type":"tool_output"}` + "\n"))
		time.Sleep(70 * time.Second)
		w.Write([]byte(`{"type":"tool_result","tool_id":"a"}` + "\n" + `{"type":"tool_output"}` + "\n"))
		w.close()
		want := []string{"1m0s: silent for 1m0s", "2m0s: silent for 2m0s", "2m10s: silent for 0s", "3m10s: silent for 1m0s"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestCloseTwice(t *testing.T) {
	w := newWatch(nil)
	w.close()
	w.close()
	if _, err := w.Write([]byte("{}\n")); err != nil {
		t.Error(err)
	}
}
