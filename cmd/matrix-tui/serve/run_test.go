package serve

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A panic of the bot ends the process with an error and is printed, although services
// run next to it.
func TestPanicOfTheBotEndsTheProcess(t *testing.T) {
	if os.Getenv("MATRIX_TUI_TEST_PANIC") != "" {
		waits := func(ctx context.Context) error { <-ctx.Done(); return nil }
		err := together(t.Context(), func(context.Context) error { panic(slowError{}) }, waits, waits)
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicOfTheBotEndsTheProcess$")
	cmd.Env = append(os.Environ(), "MATRIX_TUI_TEST_PANIC=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "the bot panics") {
		t.Fatalf("the process ended with %v and printed:\n%s", err, out)
	}
}

// slowError is a panic that takes a while to print, as on a busy machine.
type slowError struct{}

func (slowError) Error() string {
	time.Sleep(200 * time.Millisecond)
	return "the bot panics"
}

// Services end with the bot, and the bot ends when a service fails.
func TestTogether(t *testing.T) {
	waits := func(ctx context.Context) error { <-ctx.Done(); return nil }
	failed := errors.New("failed")
	fails := func(context.Context) error { return failed }
	if err := together(t.Context(), func(context.Context) error { return nil }, waits); err != nil {
		t.Errorf("the bot ended: %v", err)
	}
	if err := together(t.Context(), waits, fails); !errors.Is(err, failed) {
		t.Errorf("a service failed: %v", err)
	}
}
