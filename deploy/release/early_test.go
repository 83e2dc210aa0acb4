package release

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// dieOf, in the environment, makes this test binary begin as a new release in the base of the working directory, and end
// in this way.
const dieOf = "MATRIX_TUI_TEST_DIE"

func die(how string) {
	e, err := Base(".").Capture()
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	fmt.Fprintln(e, `{"level":"info","message":"starting"}`)
	for range 2000 { // a fatal error lists them all
		go func() { select {} }()
	}
	switch how {
	case "fatal":
		var mu sync.Mutex
		mu.Unlock()
	case "panic":
		panic("early failure")
	case "refuses":
		fmt.Fprintln(e, "matrix-tui: Invalid configuration: X is missing")
		os.Exit(2)
	case "prints":
		fmt.Fprintln(os.Stderr, "a library's last words")
		os.Exit(1)
	case "ready":
		fmt.Fprintln(os.Stderr, "before")
		if err := e.Close(); err != nil {
			fmt.Println(err)
		}
		fmt.Fprintln(os.Stderr, "after")
		panic("later failure")
	}
}

// However a new release ends before it is ready, the rollback finds the cause, and the log still has it.
func TestLastWords(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]struct{ words, log string }{
		"fatal":   {"fatal error: sync: unlock of unlocked mutex", "sync.fatal"},
		"panic":   {"panic: early failure", "panic: early failure"},
		"refuses": {"X is missing", "X is missing"},
		"prints":  {"a library's last words", "starting"},
		"ready":   {"before", "panic: later failure"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			base := Base(t.TempDir())
			cmd := exec.Command(self)
			cmd.Dir, cmd.Env = string(base), append(os.Environ(), dieOf+"="+how)
			var log strings.Builder
			cmd.Stderr = &log
			if err := cmd.Run(); !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
			if got := strings.Join(base.lastWords(), "\n"); !strings.Contains(got, want.words) || strings.Contains(got, "after") || strings.Contains(got, "later") {
				t.Errorf("the room is told: %s", got)
			}
			if !strings.Contains(log.String(), want.log) {
				t.Errorf("the log has: %.2000s", log.String())
			}
		})
	}
}
