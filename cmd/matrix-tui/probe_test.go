package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"matrix-tui/cmd/matrix-tui/cli"
)

// TestProbe compares the probe of the bot's pod with systemd's watchdog, and with this program.
func TestProbe(t *testing.T) {
	deploy := filepath.Join("..", "..", "deploy")
	data, err := os.ReadFile(filepath.Join(deploy, "kubernetes", "bot.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var probe struct {
		Exec    struct{ Command []string }
		Delay   int `yaml:"initialDelaySeconds"`
		Period  int `yaml:"periodSeconds"`
		Timeout int `yaml:"timeoutSeconds"`
		Failed  int `yaml:"failureThreshold"`
	}
	for documents := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var object struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []map[string]yaml.Node }
				}
			}
		}
		if err := documents.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, c := range object.Spec.Template.Spec.Containers {
			node := c["livenessProbe"]
			if err := node.Decode(&probe); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(probe.Exec.Command) != 2 || probe.Exec.Command[0] != "matrix-tui" || !slices.ContainsFunc(commands, func(c cli.Command) bool { return c.Name == probe.Exec.Command[1] }) {
		t.Errorf("it executes %q", probe.Exec.Command)
	}
	unit, err := os.ReadFile(filepath.Join(deploy, "units", "matrix-tui.service"))
	if watchdog := fmt.Sprintf("\nWatchdogSec=%d\n", probe.Period*probe.Failed); err != nil || !strings.Contains(string(unit), watchdog) {
		t.Errorf("the unit does not say %q, %v", watchdog, err)
	}
	// systemd gives a bot 90 s to begin to start.
	if probe.Delay < 90 || probe.Timeout >= probe.Period {
		t.Errorf("%+v", probe)
	}
}
