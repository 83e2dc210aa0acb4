package media

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
)

// realContainer returns a container of the real image, removed after the test.
func realContainer(t *testing.T) *sandbox.Container {
	t.Helper()
	podman, err := sandbox.Connect(t.Context(), "", zerolog.Nop())
	if err != nil {
		skip(t, err)
	}
	t.Cleanup(podman.Close)
	image := os.Getenv("SANDBOX_IMAGE")
	if image == "" {
		image = "localhost/matrix-tui-sandbox:latest"
	}
	if _, err := podman.ImageID(t.Context(), image); err != nil {
		skip(t, err)
	}
	room := "!test-media-" + strings.ToLower(rand.Text()[:10]) + ":localhost"
	container, err := podman.Ensure(t.Context(), sandbox.Spec{Room: room, Image: image, Memory: 512 << 20, PIDs: 256, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, podman, container.Name) })
	return container
}

// skip says loudly why the test did not use a real container, and fails if it must.
func skip(t *testing.T, why error) {
	t.Helper()
	if os.Getenv("MATRIX_TUI_E2E") == "require" {
		t.Fatal("MATRIX_TUI_E2E=require: ", why)
	}
	t.Skip("NOT TESTED on a real container: ", why)
}

// remove removes the container and everything that belongs to it.
func remove(t *testing.T, podman *sandbox.Podman, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
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
