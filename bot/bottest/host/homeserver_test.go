package host

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A homeserver that has exited by itself reports it, and can be started again.
func TestHomeserverDies(t *testing.T) {
	scripts, err := filepath.Abs("../../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	software := Dendrite(scripts)
	if lacks := software.Missing(); lacks != "" {
		if os.Getenv("MATRIX_TUI_E2E") == "require" {
			t.Fatal(lacks)
		}
		t.Skip("NOT RUN: " + lacks)
	}
	h, err := NewHomeserver(t.TempDir(), software)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if last := h.Died(); last != "" {
		t.Errorf("it runs, and has died: %s", last)
	}
	if err := h.proc.Signal(ctx, syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	if last := h.Died(); !strings.Contains(last, "goroutine") {
		t.Errorf("its last words: %q", last)
	}
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := h.Stop(ctx); err != nil || h.Died() != "" {
		t.Errorf("stopped: %v, %q", err, h.Died())
	}
}
