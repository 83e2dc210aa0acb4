package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"matrix-tui/sandbox"
)

const manifestDir = "../../deploy/kubernetes"

// manifest is what is read of an object in deploy/kubernetes.
type manifest struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
	}
	AutomountServiceAccountToken *bool
	Rules                        []struct{ APIGroups, Resources, ResourceNames, Verbs []string }
	Subjects                     []map[string]string
	RoleRef                      map[string]string
	Spec                         map[string]any
}

// manifestsOf reads all objects, by kind and name.
func manifestsOf(t *testing.T) map[string]manifest {
	t.Helper()
	objects, listed := map[string]manifest{}, struct{ Resources []string }{}
	yamlFile(t, "kustomization.yaml", func(data []byte) error { return json.Unmarshal(data, &listed) })
	files, err := filepath.Glob(filepath.Join(manifestDir, "*.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%s: %v, %v", manifestDir, files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "kustomization.yaml" {
			continue
		}
		if !slices.Contains(listed.Resources, name) {
			t.Errorf("kustomization.yaml does not list %s", name)
		}
		yamlFile(t, name, func(data []byte) error {
			var m manifest
			err := json.Unmarshal(data, &m)
			key := m.Kind + " " + m.Metadata.Name
			if _, twice := objects[key]; twice {
				t.Errorf("there are two of %s", key)
			}
			objects[key] = m
			return err
		})
	}
	return objects
}

// yamlFile calls f with each document of a file, as JSON.
func yamlFile(t *testing.T, name string, f func([]byte) error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifestDir, name))
	if err != nil {
		t.Fatal(err)
	}
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var value map[string]any
		err := documents.Decode(&value)
		if errors.Is(err, io.EOF) {
			return
		}
		var data []byte
		if err == nil {
			data, err = json.Marshal(value)
		}
		if err == nil {
			err = f(data)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// plain returns a value as JSON has it.
func plain(t *testing.T, value any) (out any) {
	t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestManifests(t *testing.T) {
	objects := manifestsOf(t)
	get := func(key string) manifest {
		m, ok := objects[key]
		if !ok {
			t.Fatalf("there is no %s", key)
		}
		return m
	}
	namespace := get("Namespace matrix-tui").Metadata.Name
	for key, m := range objects {
		if want := !strings.HasPrefix(key, "Namespace ") && !strings.HasPrefix(key, "Cluster"); want !=
			(m.Metadata.Namespace == namespace) {
			t.Errorf("%s is in the namespace %q", key, m.Metadata.Namespace)
		}
	}

	// Two accounts, and only the bot's has rights.
	bot := get("StatefulSet matrix-tui")
	template := bot.Spec["template"].(map[string]any)
	spec := podSpecOf(t, template["spec"])
	for _, name := range []string{spec.ServiceAccountName, account} {
		if m := get("ServiceAccount " + name); m.AutomountServiceAccountToken == nil || *m.AutomountServiceAccountToken {
			t.Errorf("every pod with the account %s gets its token", name)
		}
	}
	if spec.ServiceAccountName == account {
		t.Error("the bot has the account of the rooms' pods")
	}
	for role, binding := range map[string]string{"Role matrix-tui": "RoleBinding matrix-tui",
		"ClusterRole matrix-tui-tokens": "ClusterRoleBinding matrix-tui-tokens"} {
		get(role)
		b, kind := get(binding), strings.Fields(role)
		want := map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": kind[0], "name": kind[1]}
		if diff := cmp.Diff(want, b.RoleRef); diff != "" {
			t.Errorf("%s: %s", binding, diff)
		}
		subjects := []map[string]string{{"kind": "ServiceAccount", "name": spec.ServiceAccountName, "namespace": namespace}}
		if diff := cmp.Diff(subjects, b.Subjects); diff != "" {
			t.Errorf("%s: %s", binding, diff)
		}
	}
	for key := range objects {
		if strings.Contains(key, "Role") && !slices.Contains([]string{"Role matrix-tui", "RoleBinding matrix-tui",
			"ClusterRole matrix-tui-tokens", "ClusterRoleBinding matrix-tui-tokens"}, key) {
			t.Errorf("%s: who needs that?", key)
		}
	}

	// The policies select by the labels that the two kinds of pods have, and no pod is both.
	room := map[string]any{"matchLabels": map[string]any{labelOwner: owner}}
	labels := plain(t, template["metadata"]).(map[string]any)["labels"]
	itself := map[string]any{"matchLabels": labels}
	rooms := (&Config{}).template(sandbox.Spec{Room: "!den:example.org"}, "w", "h").Metadata.Labels
	if rooms[labelOwner] != owner {
		t.Errorf("rooms' pods have the labels %v", rooms)
	}
	for name, value := range labels.(map[string]any) {
		if name == labelOwner || rooms[name] == value {
			t.Errorf("the bot's label %s=%s is one of a room's pod", name, value)
		}
	}
	if len(spec.Containers) != 1 || len(spec.Containers[0].Ports) != 1 {
		t.Fatalf("the bot has the containers %+v", spec.Containers)
	}
	port := spec.Containers[0].Ports[0]
	ports := []any{map[string]any{"protocol": "TCP", "port": float64(port.ContainerPort)}}
	beside := append(slices.Clone(ports), map[string]any{"protocol": "TCP", "port": float64(port.ContainerPort + 1)})
	for key, want := range map[string]map[string]any{
		"Service matrix-tui-door": {"type": "ClusterIP", "selector": labels, "ports": []any{map[string]any{
			"name": "door", "protocol": "TCP", "port": float64(port.ContainerPort), "targetPort": port.Name}}},
		"NetworkPolicy matrix-tui-sandbox": {"podSelector": room, "policyTypes": []any{"Ingress", "Egress"},
			"egress": []any{map[string]any{
				"to": []any{map[string]any{"podSelector": itself}}, "ports": ports}}},
		"NetworkPolicy matrix-tui": {"podSelector": itself, "policyTypes": []any{"Ingress"},
			"ingress": []any{map[string]any{"from": []any{map[string]any{"podSelector": room}}, "ports": beside}}},
	} {
		if diff := cmp.Diff(any(want), plain(t, get(key).Spec)); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if diff := cmp.Diff(itself, bot.Spec["selector"]); diff != "" || bot.Spec["replicas"] != float64(1) {
		t.Errorf("the bot: %v of it, %s", bot.Spec["replicas"], diff)
	}

	// The bot needs the token of its account, and the address of the door; and nothing else that a pod can have.
	c := spec.Containers[0].SecurityContext
	for what, is := range map[string]*bool{"a token": spec.AutomountServiceAccountToken, "services' addresses": spec.EnableServiceLinks, "no root": spec.SecurityContext.RunAsNonRoot, "a fixed root": c.ReadOnlyRootFilesystem} {
		if is == nil || !*is {
			t.Errorf("the bot lacks %s", what)
		}
	}
	if c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation || len(c.Capabilities.Add) > 0 ||
		!slices.Equal(c.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("the bot is not confined: %+v", c)
	}
	checkBaseline(t, "the bot", spec)
}
