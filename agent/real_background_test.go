package agent

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"
)

// background are commands that leave a server running, each on its own port.
var background = []struct{ command, args string }{
	{"python3 server.py %d &", ""},
	{"python3 server.py %d & sleep 0.2; echo begun", ""},
	{"nohup python3 server.py %d &", ""},
	{"nohup python3 server.py %d > nohup.log 2>&1 < /dev/null & disown", ""},
	{"setsid python3 server.py %d &", ""},
	{"setsid -f python3 server.py %d", ""},
	{"python3 server.py %d > log 2>&1 &", ""},
	{"python3 server.py %d > log &", ""},
	{"python3 server.py %d 2>&1 | cat &", ""},
	{"( cd /workspace && python3 server.py %d & )", ""},
	{"( ( python3 server.py %d & ) & )", ""},
	{"PORT=%d npm run dev &", ""},
	{"python3 daemon.py %d", ""},
	{"python3 server.py %d", ", is_background: true"},
	{"python3 server.py %d &", ", is_background: true"},
}

// A server that a command leaves running does not hold the command, and lives on after the run, however it was started. It
// prints something with each request, also when the CLI is gone.
func TestRealBackground(t *testing.T) {
	r := newReal(t)
	r.sh(t, `cat > /workspace/server.py <<'END'
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print('asked', flush=True)
        self.send_response(200); self.end_headers(); self.wfile.write(b'served ')
print('starting', flush=True)
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
END
cat > /workspace/daemon.py <<'END'
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.execvp('python3', ['python3', 'server.py', sys.argv[1]])
END
printf '{"scripts": {"dev": "python3 server.py $PORT"}}' > /workspace/package.json`)
	const first = 8100
	var calls, ports []string
	for i, one := range background {
		calls = append(calls, fmt.Sprintf(`{name: run_shell_command, args: {command: '%s'%s}}`, fmt.Sprintf(one.command, first+i), one.args))
		ports = append(ports, fmt.Sprint(first+i))
	}
	r.answer(t, fmt.Sprintf(`
rules:
  - {when: 'begin', tool: '^list_background_processes', say: 'They run.'}
  - {when: 'begin', tool: '^run_shell_command', call: [{name: list_background_processes, args: {}}]}
  - {when: 'begin', call: [%s]}
  - {when: 'look', tool: '^run_shell_command', say: 'I looked.'}
  - {when: 'look', call: [{name: run_shell_command, args: {command: 'for again in 1 2 3; do for port in %s; do curl -sS --noproxy "*" --retry 20 --retry-connrefused --retry-delay 1 --stderr /dev/null 127.0.0.1:$port; done; done'}}]}
`, strings.Join(calls, ", "), strings.Join(ports, " ")))
	o, _ := r.do(t, Task{Prompt: "begin", Deadline: time.Now().Add(3 * time.Minute)})
	if o.Ended != Completed || o.Text != "They run." || len(o.Calls) != len(background)+1 || !o.Status.Left {
		t.Fatalf("%+v", o)
	}
	if tool := r.questions(0)[2].Tool; !strings.Contains(tool, "RUNNING: `python3 server.py") {
		t.Errorf("the CLI's own list: %s", tool)
	}
	for i, call := range o.Calls[:len(background)] {
		if call.Failed { // one that waits for its process never ends
			t.Errorf("%s took %s: %s", background[i].command, call.Took, call.Output)
		}
	}
	o, _ = r.do(t, Task{Prompt: "look"})
	all := r.questions(0)
	if served := strings.Count(all[len(all)-1].Tool, "served"); o.Text != "I looked." || served != 3*len(background) {
		t.Errorf("%d answers: %+v", served, o)
	}
	left, err := r.container.Left(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed := map[int]bool{}
	for _, one := range left {
		for _, port := range one.Ports {
			listed[port] = true
		}
		if !strings.Contains(one.Command, "server.py") || time.Since(one.Since) > 10*time.Minute || time.Since(one.Since) < -time.Minute {
			t.Errorf("left: %+v", one)
		}
	}
	if len(left) != len(background) || len(listed) != len(background) {
		t.Errorf("%d left, with %d ports", len(left), len(listed))
	}
	if logged := r.sh(t, "cat /root/.gemini/tmp/background-processes/*.log | grep -c asked"); logged < "30" {
		t.Errorf("%s requests are in the logs", logged)
	}
	if err := r.container.EndLeft(t.Context()); err != nil {
		t.Error(err)
	}
	if rest := r.sh(t, "ps -eo args | grep '^[^ ]*python3 \\|^tee '"); rest != "" {
		t.Errorf("after the end: %s", rest)
	}
}

// What a command prints just before its end is not lost, and what its process prints later is bounded.
func TestRealBackgroundOutput(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'begin', tool: '^run_shell_command', say: 'It runs.'}
  - {when: 'begin', call: [{name: run_shell_command, args: {command: '(until [ -e go ]; do sleep 0.1; done; seq 1000000; touch done; exec sleep 7001) & seq 30000; exit 3'}}]}
`)
	o, _ := r.do(t, Task{Prompt: "begin"})
	asked := r.questions(0)[1].Tool
	if o.Text != "It runs." || !regexp.MustCompile(`29999\\n30000\\n[^0-9]*still running.*Exit Code: 3`).MatchString(asked) {
		t.Errorf("%+v\n%s", o, asked)
	}
	r.sh(t, "touch /workspace/go")
	until(t, "it has printed all", func() bool { return strings.Contains(r.sh(t, "ls /workspace"), "done") })
	if size := r.sh(t, "cat /root/.gemini/tmp/background-processes/*.log | wc -c; pgrep -c tee"); size != "1048576\n2\n" {
		t.Errorf("the log has %s bytes", size)
	}
}

// A command may be silent for longer than the CLI's own limit, which is five minutes.
func TestRealSilent(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'begin', tool: '^run_shell_command', say: 'It has ended.'}
  - {when: 'begin', call: [{name: run_shell_command, args: {command: 'sleep 3; echo built'}}]}
`)
	own := maps.Clone(shell)
	t.Cleanup(func() { shell = own })
	shell = maps.Clone(own)
	shell["inactivityTimeout"] = 1 // second
	if o, _ := r.do(t, Task{Prompt: "begin"}); !strings.Contains(o.Calls[0].Output, "cancelled") {
		t.Errorf("with the CLI's limit: %+v", o.Calls)
	}
	shell = own
	if o, _ := r.do(t, Task{Prompt: "begin"}); o.Calls[0].Output != "built" {
		t.Errorf("%+v", o.Calls)
	}
}
