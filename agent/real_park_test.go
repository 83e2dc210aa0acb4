package agent

import (
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
)

// A parked run continues as the task that it was started for, and only then. All sizes of prompts arrive.
func TestRealParked(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'note the heron', say: 'Noted.'}
  - {when: 'which bird', say: 'A heron.'}
`)
	session := uuid()
	park := func(task Task) {
		t.Helper()
		task.Run, task.Session = "parked-"+uuid(), session
		task.Files = []sandbox.File{{Path: "/workspace/task.md", Data: []byte("none"), New: true}}
		if _, err := r.agent.Park(t.Context(), r.container, task, time.Hour); err != nil {
			t.Fatal(err)
		}
		r.ready(t)
	}
	do := func(task Task, warm bool) Outcome {
		t.Helper()
		before := r.last()
		task.Session = session
		task.Files = []sandbox.File{{Path: "/workspace/task.md", Data: []byte(task.Prompt)}}
		task.Run = uuid()
		begun, said := time.Now(), time.Time{}
		o, err := r.agent.Run(t.Context(), r.container, task, func(Event) { said = time.Now() })
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes, warm %v: the answer after %v, the end %v later, known %v later", len(task.Prompt), o.Status.Warm, said.Sub(begun), o.Status.Ended.Sub(said), time.Since(o.Status.Ended))
		if o.Ended != Completed || o.Status.Warm != warm || o.Session != session {
			t.Errorf("%.30q: %+v, want warm %v", task.Prompt, o, warm)
		}
		if asked := r.questions(before); len(asked) != 1 || !strings.Contains(asked[0].User, task.Prompt) {
			t.Errorf("%.30q did not arrive as it was", task.Prompt)
		}
		return o
	}
	park(Task{})
	park(Task{}) // it waits longer
	do(Task{Prompt: "[alice]: note the heron"}, true)
	if got := r.sh(t, "cat /workspace/task.md"); got != "[alice]: note the heron" {
		t.Errorf("task.md: %q", got)
	}
	park(Task{Resume: true})
	if o := do(Task{Resume: true, Prompt: "[alice]: which bird was it?"}, true); o.Text != "A heron." {
		t.Errorf("%+v", o)
	}
	for _, size := range []int{60_000, 500_000} {
		park(Task{Resume: true})
		do(Task{Resume: true, Prompt: "[alice]: " + strings.Repeat("long ", size/5) + "end"}, true)
	}
	park(Task{Resume: true})
	r.route.Begin(r.spec.Room, "other", "gemini-3-flash-preview")
	do(Task{Resume: true, Prompt: "with another model", Model: "gemini-3-flash-preview"}, false)
	park(Task{Resume: true})
	do(Task{Resume: true, Prompt: "with approvals", Approvals: []string{"git push"}}, false)
	park(Task{Resume: true})
	r.sh(t, "echo 'Speak French.' > /workspace/GEMINI.md")
	do(Task{Resume: true, Prompt: "by other instructions"}, false)
	before := r.last()
	if o := do(Task{Resume: true, Prompt: "once more"}, false); len(r.questions(before)) != 1 || !strings.Contains(r.questions(before)[0].Text, "note the heron") {
		t.Errorf("the session of discarded runs is empty: %+v", o)
	}
	// The session of a new run that is discarded can be started again.
	session = uuid()
	park(Task{})
	r.sh(t, "touch /workspace/new")
	do(Task{Prompt: "another file"}, false)
	if left := strings.TrimSpace(r.sh(t, "ls /var/lib/boxinit/runs | grep parked; pgrep -c node")); left != "0" {
		t.Errorf("left: %s", left)
	}
}

// ready waits until the parked run has initialized: it uses no processor time then.
func (r *real) ready(t *testing.T) {
	t.Helper()
	last := ""
	until(t, "the parked run waits", func() bool {
		time.Sleep(400 * time.Millisecond)
		now := r.sh(t, `for p in $(pgrep -x node || pgrep -f /opt/gemini); do cut -d' ' -f14,15 /proc/$p/stat; done`)
		same := now == last && now != ""
		last = now
		return same
	})
}
