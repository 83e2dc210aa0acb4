package bottest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/sandbox/sandboxtest"
)

// kube is the cluster of deploy/kube-test, in whose folder MATRIX_TUI_KUBE says that it is; "" = rooms have containers of
// podman.
func kube() string { return os.Getenv("MATRIX_TUI_KUBE") }

// kubectl is kubectl's command line as the cluster's administrator.
func (s *suite) kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.repo, "deploy", "kube-test", "cluster"),
		append([]string{"kubectl", kube()}, args...)...)
	cmd.WaitDelay = host.Straggling
	return cmd
}

// onKube sets up a bot whose rooms are in the cluster, if there is one. Its door has the same port after a restart.
func (sc *script) onKube() error {
	if kube() == "" || sc.bot.cluster != nil {
		return nil
	}
	door, err := sandboxtest.DoorIn(kube())
	if err != nil {
		return err
	}
	sc.bot.cluster = map[string]string{
		"SANDBOX_ENGINE": "kubernetes", "KUBECONFIG": filepath.Join(kube(), "admin.kubeconfig"), "KUBE_NAMESPACE": "default",
		"KUBE_DOOR": door, "KUBE_LISTEN": door, "KUBE_STORAGE": "1g",
	}
	return nil
}

// inPod runs a command in a room's pod, and passes its output on.
func (sc *script) inPod(ctx context.Context, neg bool, name string, args []string) error {
	return sc.ended(sc.suite.kubectl(ctx, append([]string{"exec", strings.ToLower(name), "--container", "sandbox", "--"},
		args...)...), neg)
}

// ended runs a command, and passes its output on.
func (sc *script) ended(cmd *exec.Cmd, neg bool) error {
	cmd.Stdout, cmd.Stderr = sc.ts.Stdout(), sc.ts.Stderr()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	if code := cmd.ProcessState.ExitCode(); (code != 0) != neg {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}

// geminisInPod is geminiTimes for a pod. One that is not there has none.
func (sc *script) geminisInPod(ctx context.Context, place string, parked bool) (string, error) {
	name, err := sc.containerOf(place)
	if err != nil {
		return "", err
	}
	return sc.suite.podGeminis(ctx, name, parked)
}

func (s *suite) podGeminis(ctx context.Context, name string, parked bool) (string, error) {
	argv := append([]string{"exec", strings.ToLower(name), "--container", "sandbox", "--"}, host.ListGeminis...)
	out, err := s.kubectl(ctx, argv...).Output()
	if err != nil {
		return "", fmt.Errorf("list processes of pod %s: %w", name, err)
	}
	return host.GeminisIn(string(out), parked), nil
}

// removePods removes the sandboxes of the script's rooms, and their volumes.
func (sc *script) removePods(ctx context.Context) error {
	pods := []string{"delete", "sandbox", "--ignore-not-found", "--cascade=foreground"}
	claims := []string{"delete", "persistentvolumeclaim", "--ignore-not-found"}
	for _, name := range sc.containers {
		room := strings.TrimPrefix(strings.ToLower(name), "sandbox-")
		pods = append(pods, "sandbox-"+room)
		claims = append(claims, "workspace-"+room, "home-"+room)
	}
	for _, argv := range [][]string{pods, claims} {
		if out, err := sc.suite.kubectl(ctx, argv...).CombinedOutput(); err != nil {
			return fmt.Errorf("remove sandboxes: %w: %.500s", err, out)
		}
	}
	sc.suite.wiping.Lock()
	defer sc.suite.wiping.Unlock()
	return sc.suite.onCluster(ctx, "volumes")
}
