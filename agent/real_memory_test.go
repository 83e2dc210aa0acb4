package agent

import (
	"strings"
	"testing"
)

// The model is told to remember things where people read them. It is not sent the CLI's own memories, and neither are
// subagents. Instructions of the project still are.
func TestRealRemember(t *testing.T) {
	r := newReal(t)
	r.sh(t, `mkdir -p /workspace/sub /root/.gemini/tmp/workspace/memory
		echo '/workspace' > /root/.gemini/tmp/workspace/.project_root
		echo 'planted: global' > /root/.gemini/GEMINI.md
		echo 'planted: private' > /root/.gemini/tmp/workspace/memory/MEMORY.md
		echo 'planted: legacy' > /root/.gemini/tmp/workspace/memory/GEMINI.md
		echo 'planted: fact' > /workspace/MEMORY.md
		echo 'planted: project' > /workspace/GEMINI.md
		echo 'planted: folder' > /workspace/sub/GEMINI.md
		echo text > /workspace/sub/text`)
	for _, model := range []string{"gemini-flash-latest", "gemini-3.1-pro-preview"} { // each has its own system instruction
		r.route.Begin(r.spec.Room, "test", model)
		r.answer(t, `
rules:
  - {tool: '^invoke_agent', say: 'fine'}
  - {tool: '^read_file', call: [{name: invoke_agent, args: {agent_name: generalist, prompt: 'be a subagent'}}]}
  - {when: 'be a subagent', call: [{name: complete_task, args: {result: {response: done}}}]}
  - {when: 'hello', call: [{name: read_file, args: {file_path: /workspace/sub/text}}]}
`)
		before := r.last()
		session := uuid()
		if o, _ := r.do(t, Task{Session: session, Model: model, Prompt: "[alice]: hello"}); o.Text != "fine" {
			t.Fatalf("%s: %+v", model, o)
		}
		r.do(t, Task{Session: session, Resume: true, Model: model, Prompt: "[alice]: go on"})
		asked := r.questions(before)
		if len(asked) != 5 { // three of them by the first run's main agent, one by its subagent
			t.Errorf("%s: the model received %d requests", model, len(asked))
		}
		for i, q := range asked {
			for text, want := range map[string]bool{
				"`/workspace/MEMORY.md` is the memory": true, "`/workspace/memory/YYYY-MM-DD.md`": true,
				"Instruction and Memory Files": false, "/root/.gemini/GEMINI.md": false, "/memory/MEMORY.md": false,
				"planted: global": false, "planted: private": false, "planted: legacy": false, "planted: fact": false,
				"planted: project": true,
				"Respect User":     model == "gemini-flash-latest", // what follows is left as it is
			} {
				if got := strings.Contains(q.Text, text); got != want {
					t.Errorf("%s: request %d contains %q: %v, want %v", model, i, text, got, want)
				}
			}
		}
		if last := asked[len(asked)-1].Text; !strings.Contains(last, "planted: folder") {
			t.Errorf("%s: the GEMINI.md of a folder that was read was not sent", model)
		}
	}
	if out := r.sh(t, "cat /root/.gemini/GEMINI.md /root/.gemini/tmp/workspace/memory/*"); strings.Count(out, "planted:") != 3 {
		t.Errorf("the CLI's memories are now %q", out)
	}
}
