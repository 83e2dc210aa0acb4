package sandbox_test

import (
	"testing"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/sandboxtest"
)

// Podman keeps the contract of an engine.
func TestContract(t *testing.T) {
	var podman sandbox.Parts
	sandboxtest.Check(t, sandboxtest.Site{
		Rooms: podman.Rooms(t), Spec: podman.Spec, Most: 8, Foreign: podman.Foreign, ForeignVolume: podman.ForeignVolume,
		Layer: true, ParkedFirst: true, Pause: podman.Pause, Beside: podman.Beside,
	})
}
