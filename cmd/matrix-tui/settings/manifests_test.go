package settings

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestManifests loads the settings from the environment that the manifests in deploy/kubernetes give the bot.
func TestManifests(t *testing.T) {
	dir := "../../../deploy/kubernetes"
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	type named struct{ Name, Value string }
	var environ []string
	var listens string
	for documents := yaml.NewDecoder(bytes.NewReader(read("bot.yaml"))); ; {
		var object struct {
			Kind     string
			Metadata named
			Spec     struct {
				Ports    []struct{ Port int }
				Template struct {
					Spec struct {
						Containers []struct {
							Env   []named
							Ports []struct {
								Port int `yaml:"containerPort"`
							}
						}
					}
				}
			}
		}
		if documents.Decode(&object) != nil {
			break
		}
		if object.Kind == "Service" { // the cluster tells every pod of the namespace
			name := strings.ToUpper(strings.ReplaceAll(object.Metadata.Name, "-", "_"))
			t.Setenv(name+"_SERVICE_HOST", "10.43.0.10")
			t.Setenv(name+"_SERVICE_PORT", fmt.Sprint(object.Spec.Ports[0].Port))
			environ = append(environ, name+"_SERVICE_HOST=10.43.0.10", name+"_PORT=tcp://10.43.0.10:3129")
		}
		for _, c := range object.Spec.Template.Spec.Containers {
			for _, e := range c.Env {
				environ = append(environ, e.Name+"="+e.Value)
			}
			listens = fmt.Sprintf("0.0.0.0:%d", c.Ports[0].Port)
		}
	}
	var custom struct {
		Maps []struct{ Literals []string } `yaml:"configMapGenerator"`
	}
	text := strings.ReplaceAll(string(read("kustomization.yaml")), "      # - ", "      - ") // also what is only proposed
	if err := yaml.Unmarshal([]byte(text), &custom); err != nil || len(custom.Maps) != 1 || len(custom.Maps[0].Literals) < 5 {
		t.Fatalf("kustomization.yaml: %+v, %v", custom, err)
	}
	environ = append(environ, custom.Maps[0].Literals...)
	for line := range strings.Lines(string(read("secret.example"))) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			if value == "" {
				value = "secret"
			}
			environ = append(environ, name+"="+value)
		}
	}
	cfg, err := Load(nil, environ, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if missing := cfg.Missing(false); len(missing) > 0 {
		t.Errorf("missing: %q", missing)
	}
	if cfg.Engine != Kubernetes || cfg.Door() != "10.43.0.10:3129" || string(cfg.KubeListen) != listens ||
		!strings.HasPrefix(string(cfg.Image), "registry.example.org/") || cfg.KubeStorageClass == "" || cfg.KubePullSecret == "" || !bool(cfg.Maintenance) {
		t.Errorf("%s rooms, image %s, door %s, which listens at %s; the port is %s", cfg.Engine, cfg.Image, cfg.Door(),
			cfg.KubeListen, listens)
	}
	if want := "/home/matrix-tui/state"; string(cfg.StateDir) != want {
		t.Errorf("the state is in %s, the volume has %s", cfg.StateDir, want)
	}
}
