package bottest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"matrix-tui/bot/bottest/host"
)

// doKube does something to the cluster, or finds out where a room's pod is: see verbs.go. When the script ends, mend
// undoes it.
func doKube(ctx context.Context, sc *script, neg bool, args []string) error {
	if kube() == "" {
		return errors.New("this script is for deploy/test --kube")
	}
	switch args[0] {
	case "kill":
		sc.killed = append(sc.killed, args[1:]...)
		return sc.suite.onCluster(ctx, args[0], args[1:]...)
	case "start":
		sc.killed = slices.DeleteFunc(sc.killed, func(part string) bool { return slices.Contains(args[1:], part) })
		return sc.suite.onCluster(ctx, args[0], args[1:]...)
	case "node":
		return sc.findPod(ctx, args[1])
	case "kubectl":
		sc.operated = true
		return sc.ended(sc.suite.kubectl(ctx, args[1:]...), neg)
	}
	return errors.New("usage: kube kill|start|node|kubectl …")
}

// onCluster runs deploy/kube-test/cluster.
func (s *suite) onCluster(ctx context.Context, action string, args ...string) error {
	argv := append([]string{action, kube()}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(s.repo, "deploy", "kube-test", "cluster"), argv...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cluster %s: %w: %.500s", action, err, out)
	}
	return nil
}

// findPod waits until a room's pod is on a node.
func (sc *script) findPod(ctx context.Context, place string) error {
	name, err := sc.containerOf(place)
	if err != nil {
		return err
	}
	node, pod := "", strings.ToLower(name)
	err = host.Poll(ctx, func() (bool, error) {
		out, err := sc.suite.kubectl(ctx, "get", "pod", pod, "--output", "jsonpath={.spec.nodeName}").Output()
		node = string(out)
		return err == nil && node != "", nil
	})
	if err != nil {
		return fmt.Errorf("pod %s is on no node: %w", pod, err)
	}
	sc.ts.Setenv("pod", pod)
	sc.ts.Setenv("node", node)
	sc.ts.Setenv("other", map[string]string{"node1": "node2", "node2": "node1"}[node])
	return nil
}

// mend starts what the script has killed, and lets pods onto both nodes again.
func (sc *script) mend(ctx context.Context) (err error) {
	for _, part := range sc.killed {
		err = errors.Join(err, sc.suite.onCluster(ctx, "start", part))
	}
	if !sc.operated {
		return err
	}
	if out, failed := sc.suite.kubectl(ctx, "uncordon", "node1", "node2").CombinedOutput(); failed != nil {
		err = errors.Join(err, fmt.Errorf("uncordon the nodes: %w: %.500s", failed, out))
	}
	// It fails if there is none.
	_ = sc.suite.kubectl(ctx, "taint", "nodes", "--all", outOfService+"-").Run()
	return err
}

// outOfService is the taint with which an operator says that a node is off.
const outOfService = "node.kubernetes.io/out-of-service"
