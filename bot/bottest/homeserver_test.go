package bottest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A homeserver that has ended by itself tells of it, and can be started again.
func TestHomeserverDies(t *testing.T) {
	bins := dendriteFolder()
	if _, err := os.Stat(filepath.Join(bins, "dendrite")); err != nil {
		if os.Getenv("MATRIX_TUI_E2E") == "require" {
			t.Fatal(err)
		}
		t.Skip("NOT RUN: no Dendrite: set MATRIX_TUI_DENDRITE")
	}
	script, err := filepath.Abs("../../deploy/homeserver/start")
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHomeserver(t.TempDir(), script, bins)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := h.start(ctx); err != nil {
		t.Fatal(err)
	}
	if last := h.died(); last != "" {
		t.Errorf("it runs, and has died: %s", last)
	}
	if err := h.proc.signal(ctx, syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	if last := h.died(); !strings.Contains(last, "goroutine") {
		t.Errorf("its last words: %q", last)
	}
	if err := h.start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := h.stop(ctx); err != nil || h.died() != "" {
		t.Errorf("stopped: %v, %q", err, h.died())
	}
}
