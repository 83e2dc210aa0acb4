package agent

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"matrix-tui/sandbox"
)

//go:embed testdata/history.test.cjs
var historyTests string

// What the script makes of a recording is what the API accepts.
func TestRealHistoryScript(t *testing.T) {
	r := newReal(t)
	for name, text := range map[string]string{"history.cjs": historyScript, "history.test.cjs": historyTests} {
		if _, err := r.container.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", "cat > /tmp/" + name}, Stdin: strings.NewReader(text)}); err != nil {
			t.Fatal(err)
		}
	}
	if said := r.sh(t, "node /tmp/history.test.cjs /tmp/history.cjs"); said != "" {
		t.Error(said)
	}
}

// The model accepts the history of a session, whatever happened to its runs, and a recording does not grow because it is
// resumed.
func TestRealHistory(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - when: 'count the (\w+)'
    call: [{name: run_shell_command, args: {command: 'echo some {{1}}'}}, {name: run_shell_command, args: {command: 'echo more {{1}}'}}]
  - {tool: 'more (\w+)', say: 'I have counted {{1}}.'}
  - {when: 'wait', say: 'I wait.', call: [{name: run_shell_command, args: {command: 'echo a'}}, {name: run_shell_command, args: {command: 'sleep 600'}}]}
  - {when: 'and now', say: 'Nothing new.'}
`)
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
	all := r.questions(0)
	text := all[len(all)-1].Text
	for _, bird := range []string{"herons", "owls", "crows", "geese", "ducks"} {
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
