// Package sandboxtest gives tests a real container, and checks that an engine keeps its contract. It is for tests only,
// and never runs the bot.
package sandboxtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
)

// Connect connects to podman and returns the product's image, or skips the test if either is missing.
// Containers are made with the doors, nil = none.
func Connect(t *testing.T, doors sandbox.Doors, log zerolog.Logger) (rooms *sandbox.Rooms, image string) {
	t.Helper()
	podman, err := sandbox.Connect(t.Context(), "", log)
	if err != nil {
		Skip(t, err)
	}
	podman.Place = sandbox.Place{Doors: doors, Version: "test"}
	rooms = sandbox.NewRooms(podman, log)
	t.Cleanup(rooms.Close)
	image = cmp.Or(os.Getenv("SANDBOX_IMAGE"), "localhost/matrix-tui-sandbox:latest")
	if _, err := podman.ImageID(t.Context(), image); err != nil {
		Skip(t, err)
	}
	return rooms, image
}

// Room returns the ID of a made-up room.
func Room(name string) string {
	return "!test-" + name + "-" + strings.ToLower(rand.Text()[:10]) + ":localhost"
}

// GatewayDir returns a folder for the sockets of a gateway: its path is short, because that of a socket has at most 108
// bytes, and users in a container may enter it. It is removed after the test.
func GatewayDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Ensure creates a container that is removed, with its volumes, after the test.
func Ensure(t *testing.T, rooms *sandbox.Rooms, spec sandbox.Spec) *sandbox.Container {
	t.Helper()
	container, err := rooms.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, rooms, container) })
	return container
}

// Skip says loudly why the test did not use the real parts, and fails if it must.
func Skip(t *testing.T, why error) {
	t.Helper()
	if os.Getenv("MATRIX_TUI_E2E") == "require" {
		t.Fatal("MATRIX_TUI_E2E=require: ", why)
	}
	t.Skip("NOT TESTED with the real parts: ", why)
}

func remove(t *testing.T, rooms *sandbox.Rooms, container *sandbox.Container) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := rooms.Remove(ctx, container.Name, container.Room, container.Room); err != nil {
		t.Error(err)
	}
}
