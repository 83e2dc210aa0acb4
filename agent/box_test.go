package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/scripted"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
)

// real is a room's box with the real Gemini CLI, behind the real gateway; only
// the model is a script.
type real struct {
	box   *sandbox.Box
	model *scripted.Server
	agent *Gemini
}

const testKey = "the-real-key-of-the-test"

// newReal makes a box that is gone, with its volumes, after the test.
func newReal(t *testing.T) *real {
	t.Helper()
	ctx := t.Context()
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
	podman, err := sandbox.Connect(ctx, "", log)
	if err != nil {
		skip(t, err)
	}
	t.Cleanup(podman.Close)
	image := os.Getenv("SANDBOX_IMAGE")
	if image == "" {
		image = "localhost/matrix-tui-sandbox:latest"
	}
	if _, err := podman.ImageID(ctx, image); err != nil {
		skip(t, err)
	}

	model := scripted.New(script(t, "default: {say: 'scripted answer'}"), zerolog.Nop())
	model.RequireKey(testKey)
	api := httptest.NewServer(model)
	t.Cleanup(func() { model.Close(); api.Close() })
	upstream, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "gw") // short: a socket's path holds 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	door := gateway.New(gateway.Config{Dir: dir, Upstream: upstream, Key: testKey, Log: log})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		door.Close(ctx)
	})
	room := "!test-agent-" + strings.ToLower(rand.Text()[:10]) + ":localhost"
	socket, err := door.Open(room)
	if err != nil {
		t.Fatal(err)
	}
	box, err := podman.Ensure(ctx, sandbox.Spec{Room: room, Image: image, Gateway: socket, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, podman, box.Name) })
	return &real{box: box, model: model, agent: &Gemini{Key: gateway.Placeholder, Log: log}}
}

// skip says loudly why the real thing is not tested, and fails where it must be.
func skip(t *testing.T, why error) {
	t.Helper()
	if os.Getenv("MATRIX_TUI_E2E") == "require" {
		t.Fatal("MATRIX_TUI_E2E=require: ", why)
	}
	t.Skip("NOT TESTED on a real box: ", why)
}

// remove leaves nothing of the box.
func remove(t *testing.T, podman *sandbox.Podman, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := podman.Destroy(ctx, name); err != nil {
		t.Error(err)
	}
	slug := strings.TrimPrefix(name, "sandbox-")
	rm := exec.CommandContext(ctx, "podman", "--url", "unix://"+podman.Socket(), "volume", "rm", "--force", "workspace-"+slug, "home-"+slug)
	if out, err := rm.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func script(t testing.TB, yaml string) *scripted.Script {
	t.Helper()
	s, err := scripted.Load([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (r *real) answer(t *testing.T, yaml string) { t.Helper(); r.model.SetScript(script(t, yaml)) }

// do runs a task whose start and end are to work.
func (r *real) do(t *testing.T, task Task) (Outcome, []Event) {
	t.Helper()
	if task.Run == "" {
		task.Run = rand.Text()
	}
	if task.Session == "" {
		task.Session = uuid()
	}
	var events []Event
	o, err := r.agent.Run(t.Context(), r.box, task, func(e Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	return o, events
}

func (r *real) sh(t *testing.T, command string) string {
	t.Helper()
	res, err := r.box.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", command}})
	if err != nil {
		t.Fatal(err)
	}
	return string(res.Stdout) + string(res.Stderr)
}

// asked waits until the model was asked n times since from.
func (r *real) asked(t *testing.T, from, n int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for len(r.questions(from)) < n {
		if time.Now().After(deadline) {
			t.Fatalf("the model was asked %d times, not %d", len(r.questions(from)), n)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// questions are what the model was asked since the request of the number from.
func (r *real) questions(from int) []scripted.Request {
	var all []scripted.Request
	for _, q := range r.model.Requests() {
		if q.Seq > from && strings.HasPrefix(q.Method, "streamGenerate") {
			all = append(all, q)
		}
	}
	return all
}

func (r *real) last() int {
	if all := r.model.Requests(); len(all) > 0 {
		return all[len(all)-1].Seq
	}
	return 0
}

func TestRealSession(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'heron', call: [{name: write_file, args: {file_path: /workspace/bird.txt, content: "heron\n"}}]}
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
		kinds = append(kinds, e.Kind)
	}
	if len(kinds) < 3 || kinds[0] != EventTool || kinds[1] != EventToolResult || kinds[len(kinds)-1] != EventText {
		t.Errorf("events: %v", kinds)
	}

	before := r.last()
	o, _ = r.do(t, Task{Session: session, Resume: true, Prompt: "[alice]: which bird was it?"})
	if o.Ended != Completed || o.Text != "A grey one." || o.Session != session {
		t.Fatalf("second task: %+v", o)
	}
	asked := r.questions(before)
	if len(asked) != 1 {
		t.Fatalf("the model was asked %d times", len(asked))
	}
	for _, turn := range []string{"note the heron", "bird.txt", "I wrote it down.", "which bird was it?"} {
		if !strings.Contains(asked[0].Text, turn) {
			t.Errorf("the resumed session has lost %q", turn)
		}
	}

	before = r.last()
	o, _ = r.do(t, Task{Resume: true, Prompt: "hello"})
	if o.Ended != SessionGone || len(r.questions(before)) != 0 {
		t.Errorf("a session that never was: %+v", o)
	}
	if o, _ = r.do(t, Task{Session: session, Prompt: "hello"}); o.Ended != SessionGone {
		t.Errorf("a session that is there already: %+v", o)
	}
	if o, _ = r.do(t, Task{Run: "never-started", Attached: true}); o.Ended != Interrupted {
		t.Errorf("a run that is not there: %+v", o)
	}
}

// What the agent did to its own settings, and what lies in the project, does not
// keep the next task from running.
func TestRealSettings(t *testing.T) {
	r := newReal(t)
	r.sh(t, `mkdir -p /root/.gemini/projects.json.lock /workspace/.gemini /etc/gemini-cli
		echo '{"half' > /root/.gemini/settings.json
		echo '{"/workspace":"TRUST_FOLDER"}' > /root/.gemini/trustedFolders.json
		echo '{"security":{"auth":{"selectedType":"vertex-ai"}},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch /tmp/hooked"}]}]}}' |
			tee /workspace/.gemini/settings.json > /etc/gemini-cli/settings.json
		for f in /workspace/.env /workspace/.gemini/.env /root/.env /root/.gemini/.env; do
			printf 'GOOGLE_API_KEY=x\nGOOGLE_GENAI_USE_VERTEXAI=true\nGOOGLE_CLOUD_PROJECT=x\nGEMINI_MODEL=y\nGEMINI_API_KEY=z\nNODE_OPTIONS=--nonsense\n' > $f
		done`)
	r.answer(t, `default: {say: 'fine'}`)
	o, _ := r.do(t, Task{Prompt: "[alice]: hello", Model: "gemini-2.5-flash"})
	if o.Ended != Completed || o.Text != "fine" {
		t.Fatalf("%+v", o)
	}
	if o.Duration > 8*time.Second {
		t.Errorf("took %v: the lock was waited for", o.Duration)
	}
	for _, q := range r.questions(0) {
		if q.Model != "gemini-2.5-flash" {
			t.Errorf("the model asked was %s", q.Model)
		}
	}
	if out := r.sh(t, "ls /tmp/hooked 2>/dev/null"); out != "" {
		t.Error("a hook of the project's settings has run")
	}
}

// Words of the user arrive as they were written.
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

// A deadline leaves nothing of the run behind, and what is older alone.
func TestRealDeadline(t *testing.T) {
	r := newReal(t)
	r.sh(t, "setsid sleep 7001 >/dev/null 2>&1 </dev/null &")
	r.answer(t, `
rules:
  - {when: 'begin', say: 'I begin.', call: [{name: run_shell_command, args: {command: 'setsid sleep 7002 >/dev/null 2>&1 & sleep 7003 >/dev/null 2>&1 & sleep 7004'}}]}
`)
	o, _ := r.do(t, Task{Prompt: "begin", Deadline: time.Now().Add(6 * time.Second)})
	if o.Ended != TimedOut || o.Text != "I begin." || !strings.Contains(o.Detail, "seconds (CODING_TIMEOUT_SECONDS)") || o.Tools["run_shell_command"] != 1 {
		t.Errorf("%+v", o)
	}
	if got := r.sh(t, "ps -eo args | grep -o '^sleep 700.' | sort"); got != "sleep 7001\n" {
		t.Errorf("left in the box: %q, want sleep 7001 alone", got)
	}
}

// The run goes on when its reader goes, and the next reader gets all of it.
func TestRealAttach(t *testing.T) {
	r := newReal(t)
	r.answer(t, `
rules:
  - {when: 'begin', say: 'I begin.', call: [{name: run_shell_command, args: {command: 'until test -e /workspace/go; do sleep 0.1; done; echo gone'}}]}
  - {tool: 'gone', say: 'It is done.'}
`)
	task := Task{Run: rand.Text(), Session: uuid(), Prompt: "begin", Deadline: time.Now().Add(time.Minute)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []Event
	_, err := r.agent.Run(ctx, r.box, task, func(e Event) {
		seen = append(seen, e)
		if e.Kind == EventTool {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Run = %v, want it cancelled", err)
	}
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
		t.Errorf("the model was asked %d times, want 2: the run was begun again", n)
	}
	// Whoever asks for the same run once more gets the same outcome.
	task.Attached = false
	if o2, _ := r.do(t, task); o2.Text != o.Text || o2.Ended != o.Ended || o2.Usage != o.Usage {
		t.Errorf("%+v\nis not\n%+v", o2, o)
	}
	if n := len(r.questions(0)); n != 2 {
		t.Errorf("the model was asked %d times", n)
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
		{"from elsewhere", func(task Task, _ chan struct{}) { r.box.StopRun(context.Background(), task.Run) }},
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

// Two megabytes of text come through whole.
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
