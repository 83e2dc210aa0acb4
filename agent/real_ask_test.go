package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox"
)

// A run that asks a question ends; the answer continues the same session.
func TestRealQuestion(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'back up the database', say: 'I look.', call: [{name: run_shell_command, args: {command: 'echo "<<<NEED_INPUT>>>"; echo no; echo "<<<END_INPUT>>>"'}}]}
  - {tool: 'NEED_INPUT', chunks: 9, say: "Two found.\n\n<<<NEED_INPUT>>>\nWhich database should I back up?\n1. production\n2. staging\n<<<CONTEXT>>>\nFound two PostgreSQL instances.\n<<<END_INPUT>>>\n"}
  - {when: 'production', say: 'Backed up.'}
`)
	o, _ := r.do(t, Task{Prompt: "back up the database"})
	want := Signal{Kind: Asked, Question: "Which database should I back up?\n1. production\n2. staging", Context: "Found two PostgreSQL instances.", Before: "Two found."}
	if diff := cmp.Diff(want, o.Signal); o.Ended != NeedsInput || o.Session == "" || diff != "" {
		t.Fatalf("%+v\n%s", o, diff)
	}
	before := r.last()
	o, _ = r.do(t, Task{Session: o.Session, Resume: true, Prompt: "[alice]: 1. production"})
	if o.Ended != Completed || o.Text != "Backed up." || o.Signal != (Signal{}) {
		t.Errorf("%+v", o)
	}
	if asked := r.questions(before); len(asked) != 1 || !strings.Contains(asked[0].Text, "Which database") {
		t.Error("the session lost the question")
	}
}

// pushing creates a clone with a commit that a bare repository lacks, and returns a function that counts the commits
// there.
const pushing = `set -e; git init -q --bare /workspace/remote.git; git clone -q /workspace/remote.git "/workspace/a clone" 2>/dev/null
cd "/workspace/a clone"; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; git branch -M main`

// A command that needs approval is not run, and ends the run without another request to the model. Once approved, it
// runs once, and the session continues.
func TestRealApproval(t *testing.T) {
	r := newReal(t)
	pushed := func() string {
		return strings.TrimSpace(r.sh(t, "cd /workspace/remote.git && git rev-list --all --count"))
	}
	r.sh(t, pushing)
	r.answer(t, `
rules:
  - {when: 'publish it', say: 'I push.', call: [{name: run_shell_command, args: {command: 'git -c x.y=z push -u origin main', dir_path: 'a clone'}}, {name: run_shell_command, args: {command: 'echo beside > /workspace/beside'}}, {name: run_shell_command, args: {command: "cd 'a clone' && git push", description: second}}]}
  - {when: 'they said yes', say: 'It is out.'}
default: {say: 'I try it by other means.', call: [{name: run_shell_command, args: {command: 'touch /workspace/tricked'}}]}
`)
	o, events := r.do(t, Task{Prompt: "publish it", Approvals: defaults})
	want := &Held{Command: "git -c x.y=z push -u origin main", Dir: "/workspace/a clone"}
	if diff := cmp.Diff(want, o.Held); o.Ended != NeedsApproval || o.Text != "I push." || o.Session == "" || diff != "" {
		t.Fatalf("%+v\n%s", o, diff)
	}
	if n := len(r.questions(0)); n != 1 || pushed() != "0" {
		t.Errorf("the model received %d requests, want 1; %s commits are out, want 0", n, pushed())
	}
	if out := r.sh(t, "ls /workspace"); !strings.Contains(out, "beside") || strings.Contains(out, "tricked") {
		t.Errorf("a command next to it, or after it, was run: %s", out)
	}
	failed := 0
	for _, e := range events {
		if e.Kind == EventToolResult && e.Failed && strings.HasPrefix(e.Detail, "Not run: ") {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("%d calls failed, want 2: %+v", failed, events)
	}

	spec := ApprovedRun("approved-1", *o.Held, nil)
	for i := range 2 {
		existed, err := r.container.StartRun(t.Context(), spec)
		if err != nil || existed != (i > 0) {
			t.Fatal(existed, err)
		}
		var out bytes.Buffer
		st, err := r.container.FollowRun(t.Context(), spec.ID, 0, &out)
		if err != nil || st.State != sandbox.RunExited || st.Code != 0 || !strings.Contains(out.String(), "main -> main") {
			t.Errorf("%v, %+v: %s", err, st, out.String())
		}
	}
	if pushed() != "1" {
		t.Errorf("%s commits are out, want 1", pushed())
	}

	before := r.last()
	o, _ = r.do(t, Task{Session: o.Session, Resume: true, Prompt: "they said yes", Approvals: defaults})
	if o.Ended != Completed || o.Text != "It is out." || o.Held != nil {
		t.Errorf("%+v", o)
	}
	asked := r.questions(before)
	if len(asked) != 1 {
		t.Fatalf("the model received %d requests", len(asked))
	}
	for _, turn := range []string{"git -c x.y=z push", "Not run: a person is being asked", heldSaid} {
		if !strings.Contains(asked[0].Text, turn) {
			t.Errorf("the session lost %q", turn)
		}
	}
}

// Node in the container reads the patterns as Go does, and no text takes long to match.
func TestRealPatterns(t *testing.T) {
	r := newReal(t)
	data, err := json.Marshal(map[string]any{"patterns": patterns(defaults), "held": heldCases[true], "free": heldCases[false]})
	if err != nil {
		t.Fatal(err)
	}
	script := "const c = " + string(data) + `;
const patterns = c.patterns.map((p) => new RegExp(p));
const found = (s) => patterns.some((p) => p.test(s));
for (const s of c.held) if (!found(s)) console.log('not found: ' + JSON.stringify(s));
for (const s of c.free) if (found(s)) console.log('found: ' + JSON.stringify(s));
const n = 131071, fill = (s) => s.repeat(Math.ceil(n / s.length)).slice(0, n);
for (const s of [' ', '\\', 'git ', ';git ', ';git -a ', ';git -a b', ';git -"" ', ';git -\'a b\' ', 'git\t-C "a" ', '"git",', ';a=b ', ';a=','a=', 'a=b ', ';sudo ', ';then ', ';/', '/', ';a/', 'curl ', 'curl x |', 'curl "', 'curl "" ', 'curl \\" ', 'curl >&', '|', '| ', '"', '(', 'x', ';sudo a ', ' -a', '-a b ', '" ', "'\" ", 'sudo "', '|sudo ', '| sudo a ', 'curl |sudo a ', "curl ''|", 'curl x | env A=b ',';git ,']) {
  for (const text of [fill(s), 'curl ' + fill(s), ';git ' + fill(s), ';git -a ' + fill(s), ';sudo ' + fill(s)]) {
    const before = process.cpuUsage();
    found(text);
    const {user, system} = process.cpuUsage(before); // of this process: a busy host does not count
    if (user + system > 1000000) console.log(JSON.stringify(text.slice(0, 40)) + ' takes ' + (user + system) / 1000 + ' ms of CPU time');
  }
}
`
	res, err := r.container.Exec(t.Context(), sandbox.Cmd{Argv: []string{"node", "-"}, Stdin: strings.NewReader(script)})
	if err != nil {
		t.Fatal(err)
	}
	if out := string(res.Stdout) + string(res.Stderr); out != "" || res.Code != 0 {
		t.Errorf("exit %d: %s", res.Code, out)
	}
}

// Other ways to a shell are guarded too: a subagent's, whose calls the stream does not show, the background, a shell
// within a shell, and command substitution.
func TestRealApprovalElsewhere(t *testing.T) {
	r := newReal(t)
	for _, c := range []struct{ name, model, command string }{
		{"a subagent", `
rules:
  - {when: 'begin', times: 1, call: [{name: invoke_agent, args: {agent_name: generalist, prompt: 'push it now'}}]}
  - {when: 'push it now', times: 1, call: [{name: run_shell_command, args: {command: 'git push; touch pushed'}}]}
`, "git push; touch pushed"},
		{"the background", `
rules: [{when: 'begin', times: 1, call: [{name: run_shell_command, args: {command: 'git push; touch pushed', is_background: true}}]}]
`, "git push; touch pushed"},
		{"a shell in the shell", `
rules: [{when: 'begin', times: 1, call: [{name: run_shell_command, args: {command: "bash -c 'touch pushed; git push'"}}]}]
`, "touch pushed; git push"},
		{"a command in a command", `
rules: [{when: 'begin', times: 1, call: [{name: run_shell_command, args: {command: 'touch pushed; echo "$(git push)"'}}]}]
`, `touch pushed; echo "$(git push)"`},
		{"a command that is read", `
rules: [{when: 'begin', times: 1, call: [{name: run_shell_command, args: {command: 'touch pushed; cat <(git push)'}}]}]
`, "touch pushed; cat <(git push)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.answer(t, c.model)
			o, _ := r.do(t, Task{Prompt: "begin", Approvals: defaults})
			if diff := cmp.Diff(&Held{Command: c.command, Dir: "/workspace"}, o.Held); o.Ended != NeedsApproval || diff != "" {
				t.Errorf("%+v\n%s", o, diff)
			}
			if out := r.sh(t, "ls /workspace"); out != "" {
				t.Errorf("it ran: %s", out)
			}
		})
	}
}
