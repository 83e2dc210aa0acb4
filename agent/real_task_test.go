package agent

import (
	"fmt"
	"strings"
	"testing"
)

func TestRealSession(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'heron', call: [{name: run_shell_command, args: {command: 'git -C /root fetch', description: 'Fetch the birds'}}, {name: write_file, args: {file_path: /workspace/bird.txt, content: "heron\n"}}]}
  - {tool: 'write_file', say: 'I wrote it down.'}
  - {when: 'which bird', say: 'A grey one.'}
`)
	session := uuid()
	o, events := r.do(t, Task{Session: session, Prompt: "[alice]: note the heron", Watch: []string{"/workspace/bird.txt"}})
	if o.Ended != Completed || o.Text != "I wrote it down." || o.Session != session || o.Tools["write_file"] != 1 {
		t.Fatalf("first task: %+v", o)
	}
	if o.Usage.Total == 0 || o.Usage.Input == 0 || o.Duration <= 0 || o.Truncated {
		t.Errorf("usage %+v, duration %v, truncated %v", o.Usage, o.Duration, o.Truncated)
	}
	if len(o.Status.Watch) != 1 || o.Status.Watch[0].Before != -1 || o.Status.Watch[0].Tail != "heron\n" {
		t.Errorf("watched: %+v", o.Status.Watch)
	}
	var kinds []EventKind
	for _, e := range events {
		if e.Kind != EventSlow {
			kinds = append(kinds, e.Kind)
		}
		if shell := e.Tool == "run_shell_command"; shell && e.Kind == EventTool && e.Purpose != "Fetch the birds" ||
			e.Kind == EventToolResult && (e.Failed != shell || shell && !strings.HasPrefix(e.Detail, "exit code 128: fatal: ")) {
			t.Errorf("the command failed, the file was written: %+v", e)
		}
	}
	if len(kinds) < 3 || kinds[0] != EventTool || kinds[2] != EventToolResult || kinds[len(kinds)-1] != EventText {
		t.Errorf("events: %v", kinds)
	}

	before := r.last()
	o, _ = r.do(t, Task{Session: session, Resume: true, Prompt: "[alice]: which bird was it?"})
	if o.Ended != Completed || o.Text != "A grey one." || o.Session != session {
		t.Fatalf("second task: %+v", o)
	}
	asked := r.questions(before)
	if len(asked) != 1 {
		t.Fatalf("the model received %d requests", len(asked))
	}
	for _, turn := range []string{"note the heron", "bird.txt", "I wrote it down.", "which bird was it?"} {
		if !strings.Contains(asked[0].Text, turn) {
			t.Errorf("the resumed session lost %q", turn)
		}
	}

	before = r.last()
	o, _ = r.do(t, Task{Resume: true, Prompt: "hello"})
	if o.Ended != SessionGone || len(r.questions(before)) != 0 {
		t.Errorf("a session that does not exist: %+v", o)
	}
	if o, _ = r.do(t, Task{Session: session, Prompt: "hello"}); o.Ended != SessionGone {
		t.Errorf("a session that already exists: %+v", o)
	}
	if o, _ = r.do(t, Task{Run: "never-started", Attached: true}); o.Ended != Interrupted {
		t.Errorf("a run that does not exist: %+v", o)
	}
}

// The next task runs, whatever the agent did to its own settings and whatever settings the project has.
func TestRealSettings(t *testing.T) {
	r := newReal(t)
	r.sh(t, `mkdir -p /root/.gemini /workspace/.gemini /etc/gemini-cli
		echo '{"half' > /root/.gemini/settings.json
		mkdir -p /root/.gemini/preload.cjs/x
		echo '{"/workspace":"TRUST_FOLDER"}' > /root/.gemini/trustedFolders.json
		echo '{"security":{"auth":{"selectedType":"vertex-ai"}},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch /tmp/hooked"}]}]}}' |
			tee /workspace/.gemini/settings.json > /etc/gemini-cli/settings.json
		for f in /workspace/.env /workspace/.gemini/.env /root/.env /root/.gemini/.env; do
			printf 'GOOGLE_API_KEY=x\nGOOGLE_GENAI_USE_VERTEXAI=true\nGOOGLE_CLOUD_PROJECT=x\nGEMINI_MODEL=y\nGEMINI_API_KEY=z\nNODE_OPTIONS=--nonsense\n' > $f
		done`)
	r.answer(t, `default: {say: 'fine'}`)
	r.route.Begin(r.spec.Room, "test", "gemini-3-flash-preview")
	o, _ := r.do(t, Task{Prompt: "[alice]: hello", Model: "gemini-3-flash-preview"})
	if o.Ended != Completed || o.Text != "fine" {
		t.Fatalf("%+v", o)
	}
	for _, q := range r.questions(0) {
		if q.Model != "gemini-3-flash-preview" {
			t.Errorf("the model asked was %s", q.Model)
		}
	}
	if out := r.sh(t, "ls /tmp/hooked 2>/dev/null"); out != "" {
		t.Error("a hook from the project's settings ran")
	}
}

// The user's text arrives exactly as written.
func TestRealPrompts(t *testing.T) {
	r := newReal(t)
	for _, prompt := range []string{
		"-h --version", "[alice]: /quit", "\"quoted\" and 'quoted'", "'all of it'", "a\nb\n\n\tc", "$(id) `id` ${HOME} %s \\n", "🦆 ünïcode \u202e", "=x", "[bob]: " + strings.Repeat("long ", 26000/1) + "end",
	} {
		if len(prompt) > MaxPrompt {
			t.Fatalf("%d bytes", len(prompt))
		}
		before := r.last()
		o, _ := r.do(t, Task{Prompt: prompt})
		if o.Ended != Completed {
			t.Errorf("%.40q: %+v", prompt, o)
			continue
		}
		if asked := r.questions(before); len(asked) != 1 || !strings.Contains(asked[0].User, prompt) {
			t.Errorf("%.40q did not arrive as it was", prompt)
		}
	}
}

// Two megabytes of text arrive whole.
func TestRealLongText(t *testing.T) {
	r := newReal(t)
	var b strings.Builder
	for i := 0; b.Len() < 2_000_000; i++ {
		fmt.Fprintf(&b, "%d %x words, ", i, uint32(i)*2654435761)
	}
	said := strings.TrimSpace(b.String())
	r.answer(t, "default:\n  chunks: 50\n  say: '"+said+"'\n")
	if o, _ := r.do(t, Task{Prompt: "talk"}); o.Ended != Completed || o.Text != said || o.Truncated {
		t.Errorf("%d bytes of %d, %s (%s), truncated %v", len(o.Text), len(said), o.Ended, o.Detail, o.Truncated)
	}
}
