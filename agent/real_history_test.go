package agent

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"matrix-tui/sandbox"
)

//go:embed testdata/history.test.cjs
var historyTests string

// inflated is the recording of a session that was resumed twice, before recordings were repaired.
//
//go:embed testdata/inflated.jsonl
var inflated string

const counting = `
rules:
  - when: 'count the (\w+)'
    call: [{name: run_shell_command, args: {command: 'echo some {{1}}'}}, {name: run_shell_command, args: {command: 'echo more {{1}}'}}]
  - {tool: 'more (\w+)', say: 'I have counted {{1}}.'}
  - {when: 'wait', say: 'I wait.', call: [{name: run_shell_command, args: {command: 'echo a'}}, {name: run_shell_command, args: {command: 'sleep 600'}}]}
  - {when: 'and now', say: 'Nothing new.'}
`

// What the script makes of a recording is what the API accepts.
func TestRealHistoryScript(t *testing.T) {
	r := newReal(t)
	r.put(t, "/tmp/history.cjs", historyScript)
	r.put(t, "/tmp/history.test.cjs", historyTests)
	if said := r.sh(t, "node /tmp/history.test.cjs /tmp/history.cjs"); said != "" {
		t.Error(said)
	}
}

// The model accepts the history of a session, whatever happened to its runs, and a recording does not grow because it is
// resumed.
func TestRealHistory(t *testing.T) {
	r := newReal(t)
	r.answer(t, counting)
	session := uuid()
	do := func(prompt, answer string, resume bool) {
		t.Helper()
		if o, _ := r.do(t, Task{Session: session, Resume: resume, Prompt: "[alice]: " + prompt}); o.Ended != Completed || o.Text != answer {
			t.Fatalf("%s: %+v", prompt, o)
		}
	}
	leave := func() (run string) {
		t.Helper()
		run = uuid()
		r.leave(t, Task{Run: run, Session: session, Resume: true, Prompt: "[alice]: wait"})
		return run
	}
	do("count the herons", "I have counted herons.", false)
	do("count the owls", "I have counted owls.", true)
	do("count the crows", "I have counted crows.", true)
	if err := r.container.StopRun(t.Context(), leave()); err != nil {
		t.Fatal(err)
	}
	do("count the geese", "I have counted geese.", true)
	leave()
	r.sh(t, "kill -9 $(pgrep -f /opt/gemini)")
	do("count the ducks", "I have counted ducks.", true)
	before := r.size(t, session)
	for range 4 {
		do("and now", "Nothing new.", true)
	}
	if grown := (r.size(t, session) - before) / 4; grown > 2000 {
		t.Errorf("a short question and its answer need %d bytes of the recording", grown)
	}
	r.knows(t, "herons", "owls", "crows", "geese", "ducks")
}

// A recording that has become too large is repaired when it is resumed.
func TestRealInflated(t *testing.T) {
	r := newReal(t)
	r.answer(t, counting)
	session, chats := "5e551011-0000-4000-8000-000000000000", "/root/.gemini/tmp/workspace/chats"
	r.put(t, chats+"/session-2026-01-01T00-00-5e551011.jsonl", inflated)
	for _, bird := range []string{"geese", "ducks"} {
		if o, _ := r.do(t, Task{Session: session, Resume: true, Prompt: "[alice]: count the " + bird}); o.Ended != Completed {
			t.Fatalf("%+v", o)
		}
	}
	r.knows(t, "herons", "owls", "crows", "geese", "ducks")
	if size := r.size(t, session); size > len(inflated) {
		t.Errorf("it has grown from %d to %d bytes", len(inflated), size)
	}
}

// A parked run that is discarded leaves the room's session as it was.
func TestRealDiscardedSession(t *testing.T) {
	r := newReal(t)
	r.answer(t, counting)
	session := uuid()
	do := func(prompt string, resume bool) {
		t.Helper()
		if o, _ := r.do(t, Task{Session: session, Resume: resume, Prompt: "[alice]: " + prompt}); o.Ended != Completed {
			t.Fatalf("%+v", o)
		}
	}
	do("count the herons", false)
	for range 2 {
		if _, err := r.agent.Park(t.Context(), r.container, Task{Run: "parked-" + uuid(), Session: session, Resume: true}, time.Hour); err != nil {
			t.Fatal(err)
		}
		r.ready(t)
		before := r.size(t, session)
		if _, err := r.container.ParkRun(t.Context(), sandbox.Parking{}); err != nil {
			t.Fatal(err)
		}
		until(t, "the CLI is gone", func() bool { return r.sh(t, "pgrep -c node") == "0\n" })
		if left := r.size(t, session); before == 0 || left != before {
			t.Errorf("%d of %d bytes are left", left, before)
		}
	}
	do("count the owls", true)
	r.knows(t, "herons", "owls")
}

// knows checks that the last request has the result of each call once.
func (r *real) knows(t *testing.T, birds ...string) {
	t.Helper()
	all := r.questions(0)
	text := all[len(all)-1].Text
	for _, bird := range birds {
		if n := strings.Count(text, "Output: more "+bird); n != 1 {
			t.Errorf("the last request has the result with %s %d times:\n%s", bird, n, text)
		}
	}
}

// size returns the size of the recordings of a session, in bytes.
func (r *real) size(t *testing.T, session string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(r.sh(t, fmt.Sprintf("cat /root/.gemini/tmp/*/chats/session-*-%.8s.jsonl | wc -c", session))))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
