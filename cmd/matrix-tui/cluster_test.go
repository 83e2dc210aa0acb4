//go:build kube

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"matrix-tui/agent/agenttest"
	"matrix-tui/bot/bottest"
	"matrix-tui/bot/bottest/person"
	"matrix-tui/sandbox"
)

const podRules = `
rules:
  - {when: 'Its exit code was', say: 'it has slept'}
  - {when: '\]: sleep', tool: '.', say: 'it has slept'}
  - {when: '\]: sleep', call: [{name: run_shell_command, args: {command: 'sleep 20; echo slept >>/workspace/log'}}]}
  - {when: '\]: number (\d+)', say: 'got {{1}}'}
`

// TestClusterBot runs the bot itself in the cluster, as deploy/kubernetes says, with the images that its build made:
// MATRIX_TUI_KUBE_BOT names the bot's. The homeserver and the model are on the host. What the cluster lacks, the test
// does: a Service, and a NetworkPolicy that lets the bot's pod out.
func TestClusterBot(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	host, err := bottest.OpenHost(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	account, err := host.NewBot(ctx, "in-pod", nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := agenttest.Load([]byte(podRules))
	if err != nil {
		t.Fatal(err)
	}
	account.Model().SetScript(rules)
	alice, err := host.Person(ctx, "alice-in-pod", "password-alice")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(alice.Close)
	c := cluster{t: t, dir: os.Getenv("MATRIX_TUI_KUBE")}
	model, key := account.ModelAPI()
	_, password := account.Login()
	overlay := c.apply(fmt.Sprintf("MATRIX_HOMESERVER=http://%s\nMATRIX_USER=%s\nMATRIX_PASSWORD=%s\nMATRIX_OWNERS=%s\n"+
		"GEMINI_API_KEY=%s\nGEMINI_BASE_URL=http://%s\nGEMINI_MODEL=gemini-3.1-pro-preview\nMATRIX_ALLOW=@*:localhost\n",
		c.forward(host.Homeserver()), account.ID(), password, alice.ID(), key, c.forward(strings.TrimPrefix(model, "http://"))))

	room, err := alice.CreateRoom(ctx, person.RoomSpec{Invite: []string{account.ID()}})
	if err != nil {
		t.Fatal(err)
	}
	greeted := func(m person.Msg) bool { return m.Sender == account.ID() && m.Kind == "m.notice" }
	if _, err := alice.Wait(ctx, room, greeted); err != nil {
		t.Fatal(err)
	}
	ask := func(text string) func(want string) {
		t.Helper()
		event, err := alice.Say(ctx, room, text)
		if err != nil {
			t.Fatal(err)
		}
		return func(want string) {
			t.Helper()
			final, err := alice.Wait(ctx, room, func(m person.Msg) bool { return m.Final() && m.Answers(event) })
			if err != nil || !strings.HasPrefix(final.Body, want) {
				t.Fatalf("%q: %q, %v", text, final.Body, err)
			}
		}
	}
	ask("number 7")("got 7")
	sandboxes := c.kubectl("get", "pods", "-l", "app.kubernetes.io/managed-by=matrix-tui", "-o", "name")
	if want := "pod/" + strings.ToLower(sandbox.NameFor(room)); sandboxes != want {
		t.Errorf("pods of rooms: %q, want %q", sandboxes, want)
	}
	t.Log(c.kubectl("exec", "matrix-tui-0", "--", "matrix-tui", "doctor"))

	// A task outlives the bot's pod, and the bot's next pod answers it, once.
	answered := ask("sleep")
	for c.kubectl("exec", strings.TrimPrefix(sandboxes, "pod/"), "-c", "sandbox", "--", "sh", "-c", "grep -lx sleep /proc/[0-9]*/comm || true") == "" {
		time.Sleep(100 * time.Millisecond)
	}
	c.kubectl("delete", "pod", "matrix-tui-0", "--grace-period=1", "--wait=false")
	answered("it has slept")
	ask("number 8")("got 8")
	if log := c.kubectl("exec", strings.TrimPrefix(sandboxes, "pod/"), "-c", "sandbox", "--", "cat", "/workspace/log"); log != "slept" {
		t.Errorf("the task ran more than once: %q", log)
	}
	// Everything is copied out and back. Then the bot goes on where it was.
	c.kubectl("exec", "matrix-tui-0", "--", "matrix-tui", "alive")
	c.maintain(overlay, true)
	c.kubectl("exec", "matrix-tui-0", "--", "matrix-tui", "alive")
	file := filepath.Join(t.TempDir(), "backup")
	c.through("", file, "exec", "matrix-tui-0", "--", "matrix-tui", "backup", "-volumes", "-")
	c.through(file, "", "exec", "-i", "matrix-tui-0", "--", "matrix-tui", "restore", "-force", "-volumes", "-")
	c.maintain(overlay, false)
	ask("number 9")("got 9")
	if log := c.kubectl("exec", strings.TrimPrefix(sandboxes, "pod/"), "-c", "sandbox", "--", "cat", "/workspace/log"); log != "slept" {
		t.Errorf("after it was copied out and back, the room has %q", log)
	}
	finals := 0
	for _, m := range alice.Messages(room) {
		if m.Sender == account.ID() && m.Final() {
			finals++
		}
	}
	if finals != 4 {
		t.Errorf("%d answers to 4 messages", finals)
	}
}

// cluster is the cluster of deploy/kube-test, with the bot in it.
type cluster struct {
	t   *testing.T
	dir string
}

func (c cluster) operate(verb string, args ...string) string {
	c.t.Helper()
	argv := append([]string{verb, c.dir}, args...)
	out, err := exec.Command("../../deploy/kube-test/cluster", argv...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("cluster %v: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c cluster) kubectl(args ...string) string {
	c.t.Helper()
	return c.operate("kubectl", append([]string{"-n", "matrix-tui"}, args...)...)
}

// apply starts the bot from the manifests, with these secrets, and returns the folder of its kustomization.
func (c cluster) apply(secrets string) string {
	c.t.Helper()
	bot, tag, _ := strings.Cut(os.Getenv("MATRIX_TUI_KUBE_BOT"), ":")
	if tag == "" {
		c.t.Fatal("MATRIX_TUI_KUBE_BOT must name the bot's image, with its tag")
	}
	address, err := os.ReadFile(filepath.Join(c.dir, "service-address"))
	if err != nil {
		c.t.Fatal(err)
	}
	// kustomize reads resources by relative paths only, and not from a folder above.
	overlay, err := os.MkdirTemp("../../deploy", ".test-")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { os.RemoveAll(overlay) })
	files := map[string]string{"secrets": secrets, "kustomization.yaml": fmt.Sprintf(`
resources: [../kubernetes]
namespace: matrix-tui
images: [{name: registry.example.org/matrix-tui, newName: %[1]s, newTag: %[2]q}]
configMapGenerator:
  - {name: matrix-tui-settings, behavior: merge, literals: ["SANDBOX_IMAGE=%[1]s-sandbox:%[2]s", "KUBE_STORAGE=1g", LOG_LEVEL=debug]}
patches:
  - {target: {kind: Service}, patch: "- op: add\n  path: /spec/clusterIP\n  value: %[3]s"}
`, bot, tag, strings.TrimSpace(string(address)))}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(overlay, name), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.operate("kubectl", "apply", "-f", "../../deploy/kubernetes/namespace.yaml")
	c.t.Cleanup(func() { c.operate("kubectl", "delete", "--ignore-not-found", "-k", overlay) })
	c.kubectl("create", "secret", "generic", "matrix-tui", "--from-env-file", filepath.Join(overlay, "secrets"))
	c.operate("kubectl", "apply", "-k", overlay)
	c.serve(strings.TrimSpace(string(address)))
	defer func() {
		if c.t.Failed() {
			c.t.Log(c.kubectl("describe", "pod", "matrix-tui-0"))
		}
	}()
	c.kubectl("rollout", "status", "statefulset/matrix-tui", "--timeout=2m")
	return overlay
}

// maintain changes the setting MAINTENANCE as an operator does.
func (c cluster) maintain(overlay string, on bool) {
	c.t.Helper()
	path, setting := filepath.Join(overlay, "kustomization.yaml"), `, "MAINTENANCE=true"`
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	changed := strings.Replace(string(text), setting, "", 1)
	if on {
		changed = strings.Replace(string(text), "LOG_LEVEL=debug", "LOG_LEVEL=debug"+setting, 1)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.operate("kubectl", "apply", "-k", overlay)
	c.kubectl("rollout", "status", "statefulset/matrix-tui", "--timeout=2m")
}

// through runs kubectl with its input from a file, or its output into one.
func (c cluster) through(from, to string, args ...string) {
	c.t.Helper()
	var said strings.Builder
	cmd := exec.Command("../../deploy/kube-test/cluster", append([]string{"kubectl", c.dir, "-n", "matrix-tui"}, args...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if from != "" {
		file, err := os.Open(from)
		if err != nil {
			c.t.Fatal(err)
		}
		defer file.Close()
		cmd.Stdin = file
	}
	if to != "" {
		file, err := os.Create(to)
		if err != nil {
			c.t.Fatal(err)
		}
		defer file.Close()
		cmd.Stdout = file
	}
	if err := cmd.Run(); err != nil {
		c.t.Fatalf("kubectl %q: %v: %s", args, err, &said)
	}
	c.t.Log(said.String())
}
