package media

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/sandboxtest"
)

// realContainer returns a container of the real image, removed after the test.
func realContainer(t *testing.T) *sandbox.Container {
	t.Helper()
	podman, image := sandboxtest.Connect(t, nil, zerolog.Nop())
	return sandboxtest.Ensure(t, podman, sandbox.Spec{Room: sandboxtest.Room("media"), Image: image, Memory: 512 << 20, PIDs: 256})
}

// sh runs a script in the container's outbox, which it creates.
func sh(t *testing.T, container *sandbox.Container, script string) string {
	t.Helper()
	result, err := container.Exec(t.Context(), sandbox.Cmd{Argv: []string{"/bin/bash", "-ec", "mkdir -p /workspace/outbox; cd /workspace/outbox; " + script}})
	if err != nil {
		t.Fatal(err)
	}
	if result.Code != 0 {
		t.Fatalf("%s: exit code %d: %s", script, result.Code, result.Stderr)
	}
	return strings.TrimSpace(string(result.Stdout))
}

// fresh empties the outbox.
func fresh(t *testing.T, container *sandbox.Container) {
	t.Helper()
	sh(t, container, "cd ..; rm -rf outbox; mkdir outbox")
}
