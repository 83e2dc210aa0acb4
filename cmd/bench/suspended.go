package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"matrix-tui/sandbox"
)

const (
	sleepers = 200             // rooms whose sandboxes are suspended
	watching = 2 * time.Minute // for which requests are counted
)

// measureSuspended measures a bot whose rooms all have suspended sandboxes in the cluster of deploy/kube-test.
func measureSuspended(ctx context.Context, b *bench, cluster string) (err error) {
	s, err := b.open(ctx, "suspended")
	if err != nil {
		return err
	}
	defer s.close(&err)
	all, err := s.joined(ctx, b, sleepers)
	if err != nil {
		return err
	}
	containers := map[string]string{}
	var objects []any
	for _, room := range all {
		name := s.Own(room)
		containers[room] = name
		objects = append(objects, suspended(room, name, b.host.Image()))
	}
	file := filepath.Join(s.Dir(), "sandboxes.json")
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err == nil {
		err = os.WriteFile(file, list, 0o600)
	}
	if err == nil {
		_, err = kubectl(ctx, cluster, "create", "-f", file)
	}
	if err == nil {
		err = s.seed(all, containers)
	}
	if err != nil {
		return err
	}
	without, err := requests(ctx, cluster)
	if err != nil {
		return err
	}
	if _, err := s.start(ctx); err != nil { // it adds the rooms to the journal
		return err
	}
	if err := errors.Join(s.settle(ctx), s.Stop(ctx)); err != nil {
		return err
	}
	ready, err := s.start(ctx)
	if err != nil {
		return err
	}
	mb, err := s.rested(ctx)
	if err != nil {
		return err
	}
	with, err := requests(ctx, cluster)
	if err != nil {
		return err
	}
	what := rooms(sleepers) + " with suspended sandboxes: "
	b.table.add(what+"start → ready", "ms", 0, ms(ready))
	b.table.add(what+"the bot's resident memory", "MB", 0, mb)
	b.table.add(what+"requests to the API server per minute, less those without the bot", "", 0, with-without)
	return nil
}

// suspended is a room's sandbox, as an earlier bot has left it.
func suspended(room, name, image string) any {
	type object = map[string]any
	return object{
		"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
		"metadata": object{
			"name": strings.ToLower(sandbox.NameFor(room)), "labels": object{"app.kubernetes.io/managed-by": "matrix-tui"},
			"annotations": object{"io.matrix-tui.room": room, "io.matrix-tui.name": name, "io.matrix-tui.image": image},
		},
		"spec": object{
			"operatingMode": "Suspended",
			"podTemplate":   object{"spec": object{"containers": []object{{"name": "sandbox", "image": image}}}},
		},
	}
}

func kubectl(ctx context.Context, cluster string, args ...string) (string, error) {
	argv := append([]string{"kubectl", cluster}, args...)
	out, err := exec.CommandContext(ctx, filepath.Join("deploy", "kube-test", "cluster"), argv...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w", args[0], err)
	}
	return string(out), nil
}

var counted = regexp.MustCompile(`(?m)^apiserver_request_total\{.*resource="(?:sandboxes|pods|persistentvolumeclaims|tokenreviews)",` +
	`.*verb="(?:GET|LIST|POST|PATCH|DELETE)",.*\} (\S+)$`)

// requests counts the requests of a minute for what the bot asks for, of whomever.
func requests(ctx context.Context, cluster string) (float64, error) {
	sum := func() (sum float64, err error) {
		text, err := kubectl(ctx, cluster, "get", "--raw", "/metrics")
		for _, m := range counted.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.ParseFloat(m[1], 64)
			sum += n
		}
		return sum, err
	}
	before, err := sum()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, watching); err != nil {
		return 0, err
	}
	after, err := sum()
	return (after - before) / watching.Minutes(), err
}
