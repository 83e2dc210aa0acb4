package doctor

import (
	"context"
	"strings"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox/kube"
	"matrix-tui/state/sentence"
)

// checkCluster checks that the cluster answers, knows sandboxes, and lets the bot do what it has to, and no more.
// Whether its network policy is enforced, only a pod can find out: boxinit does before each pod's first run.
func checkCluster(ctx context.Context, cfg *settings.Config, say func(Finding)) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	runner, err := engine.Connect(ctx, cfg, nil, zerolog.Nop())
	if err != nil {
		say(bad("cluster: %s", sentence.Text(err)))
		return
	}
	defer runner.Close()
	cluster := runner.(*kube.Cluster).Check()
	address, release, err := cluster.Server(ctx)
	if err != nil {
		say(bad("cluster: %s", sentence.Text(err)))
		return
	}
	say(good("cluster %s at %s has agent-sandbox; the bot was tested with Kubernetes 1.35 and agent-sandbox 0.5", release,
		address))
	missing, err := cluster.Missing(ctx)
	switch {
	case err != nil:
		say(bad("rights in namespace %s: %s", cluster.Namespace(), sentence.Text(err)))
	case len(missing) > 0:
		say(bad("rights in namespace %s are missing: %s; apply deploy/kubernetes/rbac.yaml", cluster.Namespace(),
			strings.Join(missing, ", ")))
	default:
		say(good("rights in namespace %s", cluster.Namespace()))
	}
	if needless, err := cluster.Needless(ctx); err == nil && len(needless) > 0 {
		say(good("the bot may do more in the cluster than it needs: %s; use the service account of "+
			"deploy/kubernetes/rbac.yaml", strings.Join(needless, ", ")))
	}
	if there, err := cluster.Account(ctx); err == nil && !there {
		say(bad("the service account matrix-tui-sandbox is missing, so no pod can start; apply deploy/kubernetes/rbac.yaml"))
	}
	if class := cfg.RuntimeClass(); class != "" {
		say(good("rooms' pods have the runtime class %s; whether the cluster has it, and it is what it says, shows with the "+
			"first task in a room", class))
	}
	if len(cfg.Deny) == 0 {
		say(good("SANDBOX_DENY is not set, so rooms may reach every public address of the cluster but those of the nodes " +
			"on which they run: name the other nodes and the load balancers, and pods and Services if theirs are public"))
	}
	say(good("pods reach the bot at %s; whether they reach nothing else is tried in each pod before its first run",
		cfg.Door()))
}
