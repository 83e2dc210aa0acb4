package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/state/retry"
)

// exitNotFound is boxinit's exit code if the file does not exist.
const exitNotFound = 3

// retryTime is how long calls that can safely be repeated wait for podman's service to come back.
const retryTime = 10 * time.Second

// pauses returns the backoff between two calls of podman.
func pauses() *retry.Backoff { return retry.New(100*time.Millisecond, 2*time.Second) }

// command runs one of boxinit's commands in the container. They are all idempotent, so
// it retries while podman's service is unreachable. Verb is for the error.
func (c *Container) command(ctx context.Context, verb string, input []byte, argv ...string) (Result, error) {
	again := pauses().Until(time.Now().Add(retryTime))
	for {
		result, err := c.Exec(ctx, Cmd{Argv: append([]string{c.init}, argv...), Dir: "/", Input: input})
		if err == nil {
			return result, failure(result, verb)
		}
		if !errors.Is(err, ErrUnreachable) || again.Wait(ctx, err) != nil {
			return Result{}, fmt.Errorf("%s: %w", verb, err)
		}
	}
}

// failure turns boxinit's exit code and message into an error.
func failure(r Result, verb string) error {
	text := strings.TrimPrefix(strings.TrimSpace(string(r.Stderr)), "boxinit: ")
	kind := kindIn(text)
	text = withoutStack(text)
	switch {
	case r.Code == 0:
		return nil
	case r.Code == exitNotFound:
		return fmt.Errorf("%s: %w: %.500s", verb, ErrNotFound, text)
	case kind == ErrExhausted:
		return fmt.Errorf("%s: %w: exit code %d: %.500s", verb, ErrExhausted, r.Code, text)
	case strings.Contains(text, "no space left on device"):
		return fmt.Errorf("%s: %w: %.500s", verb, ErrNoSpace, text)
	}
	return fmt.Errorf("%s: exit code %d: %.500s", verb, r.Code, text)
}

// withoutStack returns what a Go program says without the stack that follows when it gets no thread.
func withoutStack(text string) string {
	before, _, _ := strings.Cut(text, "fatal error: ")
	return strings.TrimSpace(before)
}
