package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/sandboxtest"
)

var stoppedAfter = regexp.MustCompile(`^I stopped after (1 second|\d+ seconds) \(CODING_TIMEOUT_SECONDS\)`)

// A deadline ends the run.
func TestRealDeadline(t *testing.T) {
	r := newReal(t)
	r.answer(t, `default: {hang: 5m}`)
	o, _ := r.do(t, Task{Prompt: "hello", Deadline: time.Now().Add(10 * time.Second)})
	if o.Ended != TimedOut || !stoppedAfter.MatchString(o.Detail) {
		t.Errorf("%+v", o)
	}
	if o.Status.State != sandbox.RunExited || o.Duration <= 0 || o.Duration > 37*time.Second {
		t.Errorf("the run is %s after %v", o.Status.State, o.Duration)
	}
}

// A deadline that passes while nothing follows the run ends it too. Nothing that the run started is left, and
// everything older is.
func TestRealDeadlinePassed(t *testing.T) {
	r := newReal(t)
	r.sh(t, "setsid sleep 7001 >/dev/null 2>&1 </dev/null &")
	r.answer(t, `
rules:
  - {when: 'begin', say: 'I begin.', call: [{name: run_shell_command, args: {command: 'setsid sleep 7002 >/dev/null 2>&1 & sleep 7003 >/dev/null 2>&1 & sleep 7004'}}]}
`)
	task := Task{Run: rand.Text(), Session: uuid(), Prompt: "begin"}
	r.leave(t, task)
	until(t, "the command has started", func() bool { return strings.Contains(r.sh(t, "ps -eo args"), "sleep 7004") })
	task.Attached, task.Deadline = true, time.Now()
	o, _ := r.do(t, task)
	if o.Ended != TimedOut || o.Text != "I begin." || o.Tools["run_shell_command"] != 1 {
		t.Errorf("%+v", o)
	}
	if got := r.sh(t, "ps -eo args | grep -o '^sleep 700.' | sort"); got != "sleep 7001\n" {
		t.Errorf("left in the container: %q, want sleep 7001 alone", got)
	}
}

// A task that is stopped while its run does not start never runs.
func TestRealStopWhileStarting(t *testing.T) {
	r := newReal(t)
	ours, theirs := net.Pipe() // a process in the container that pretends to be boxinit, and starts nothing
	r.rooms.Offer(r.spec.Room, ours, "")
	asked := make(chan struct{})
	go func() {
		one := make([]byte, 1)
		_, _ = io.ReadFull(theirs, one)
		_, _ = theirs.Write(one)
		_, _ = io.ReadFull(theirs, one) // of the request
		close(asked)
		_, _ = io.Copy(io.Discard, theirs)
	}()
	stop := make(chan struct{})
	go func() { <-asked; close(stop) }()
	o, events := r.do(t, Task{Run: "stuck", Prompt: "hello", Stop: stop})
	if o.Ended != Stopped || len(events) != 0 || len(r.questions(0)) != 0 {
		t.Errorf("%+v, %d events, %d requests", o, len(events), len(r.questions(0)))
	}
	if st, err := r.container.RunStatus(t.Context(), "stuck"); err != nil || st.State != sandbox.RunNone {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestRealStop(t *testing.T) {
	r := newReal(t)
	r.answer(t, `default: {hang: 5m}`)
	for _, c := range []struct {
		name string
		stop func(Task, chan struct{})
	}{
		{"by the channel", func(_ Task, stop chan struct{}) { close(stop) }},
		{"from elsewhere", func(task Task, _ chan struct{}) { r.container.StopRun(context.Background(), task.Run) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, stop, joined := r.last(), make(chan struct{}), make(chan struct{})
			task := Task{Run: rand.Text(), Prompt: "begin", Stop: stop}
			go func() {
				defer close(joined)
				r.asked(t, before, 1)
				c.stop(task, stop)
			}()
			o, _ := r.do(t, task)
			<-joined
			if o.Ended != Stopped || o.Detail == "" {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestRealMemory(t *testing.T) {
	r := newRealWith(t, 80<<20)
	if limit := r.sh(t, "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null"); !strings.Contains(limit, "83886080") {
		sandboxtest.Skip(t, errors.New("this host limits no memory"))
	}
	if o, _ := r.do(t, Task{Prompt: "hello"}); o.Ended != OutOfMemory {
		t.Errorf("%+v", o)
	}
}

// The run continues when its reader goes away, and the next reader gets all of it.
func TestRealAttach(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'begin', say: 'I begin.', call: [{name: run_shell_command, args: {command: 'until test -e /workspace/go; do sleep 0.1; done; echo gone'}}]}
  - {tool: 'gone', say: 'It is done.'}
`)
	task := Task{Run: rand.Text(), Session: uuid(), Prompt: "begin", Deadline: time.Now().Add(2 * time.Minute)}
	seen := r.leave(t, task)
	r.sh(t, "touch /workspace/go")
	task.Attached = true
	o, again := r.do(t, task)
	if o.Ended != Completed || o.Text != "It is done." || o.Tools["run_shell_command"] != 1 || o.Session != task.Session {
		t.Errorf("%+v", o)
	}
	if len(again) <= len(seen) {
		t.Errorf("%d events after %d", len(again), len(seen))
	}
	if n := len(r.questions(0)); n != 2 {
		t.Errorf("the model received %d requests, want 2: the run was started again", n)
	}
	// Starting the same run again has the same outcome.
	task.Attached = false
	if o2, _ := r.do(t, task); o2.Text != o.Text || o2.Ended != o.Ended || o2.Usage != o.Usage {
		t.Errorf("%+v\nis not\n%+v", o2, o)
	}
	if n := len(r.questions(0)); n != 2 {
		t.Errorf("the model received %d requests", n)
	}
}

// The container stops in the middle of a task: the run is over, and the session continues.
func TestRealContainerDown(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'interrupted', say: 'I go on.'}
  - {when: 'begin', call: [{name: run_shell_command, args: {command: 'sleep 60'}}]}
`)
	task := Task{Run: rand.Text(), Session: uuid(), Prompt: "begin"}
	r.leave(t, task)
	err := r.rooms.Stop(t.Context(), r.container.Name, r.container.Room)
	if err != nil {
		t.Fatal(err)
	}
	if r.container, err = r.rooms.Ensure(t.Context(), r.spec); err != nil {
		t.Fatal(err)
	}
	task.Attached = true
	if o, _ := r.do(t, task); o.Ended != Interrupted || o.Tools["run_shell_command"] != 1 {
		t.Errorf("%+v", o)
	}
	before := r.last()
	o, _ := r.do(t, Task{Session: task.Session, Resume: true, Prompt: "you were interrupted"})
	if o.Ended != Completed || o.Text != "I go on." {
		t.Fatalf("%+v", o)
	}
	if asked := r.questions(before); !strings.Contains(asked[0].Text, "begin") {
		t.Error("the session lost what came before")
	}
}

// The bot dies and comes back while the model is answering: the same run finishes.
func TestRealDoorAway(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {times: 1, say: 'one two three four five six', chunks: 6, chunk_delay: 1s}
default: {say: 'The answer.'}
`)
	cut := false
	task := Task{Run: rand.Text(), Session: uuid(), Prompt: "talk"}
	o, err := r.agent.Run(t.Context(), r.container, task, func(e Event) {
		if e.Kind == EventText && !cut {
			cut = true
			r.closeDoor()
			r.openDoor(t)
		}
	})
	if err != nil || o.Ended != Completed || !strings.HasSuffix(o.Text, "The answer.") {
		t.Errorf("%v, %+v", err, o)
	}
	if n := len(r.questions(0)); n != 2 {
		t.Errorf("the model received %d requests, want 2", n)
	}
}
