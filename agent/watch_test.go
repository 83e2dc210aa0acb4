package agent

import (
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

func TestCloseTwice(t *testing.T) {
	w := newWatch(nil)
	w.close()
	w.close()
	if _, err := w.Write([]byte("{}\n")); err != nil {
		t.Error(err)
	}
}
