package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/sandbox"
)

// bareRun is the CLI as the bot starts it, to be started without the bot.
type bareRun struct {
	container string
	argv, env []string
	held      string // the text in argv's prompt
	begun     bool   // its session
	clocked   bool   // it reports its start in the container
	door      *door
}

// look prints the command lines and environments of the processes in a container.
const look = `for d in /proc/[0-9]*; do echo "$(base64 -w0 $d/cmdline 2>/dev/null) $(base64 -w0 $d/environ 2>/dev/null)"; done`

// capture reads the CLI's command line and environment in a room's container while the model keeps it waiting; do makes
// the bot start it with held in its prompt. The caller closes the result.
func (s *scene) capture(ctx context.Context, room, held string, do func() error) (*bareRun, error) {
	container := sandbox.NameFor(room)
	answered := make(chan error, 1)
	go func() { answered <- do() }()
	bare := &bareRun{container: container, held: held}
	for bare.argv == nil {
		select {
		case err := <-answered:
			return nil, errors.Join(errors.New("the CLI was not seen in the container"), err)
		default:
		}
		out, err := exec.CommandContext(ctx, "podman", "exec", container, "sh", "-c", look).Output()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("look into container %s: %w", container, err), <-answered)
		}
		bare.find(out)
	}
	if err := <-answered; err != nil {
		return nil, err
	}
	i := slices.IndexFunc(bare.argv, func(a string) bool { return strings.HasPrefix(a, "--model=") })
	if i < 0 {
		return nil, errors.New("the CLI's command line has no --model")
	}
	var err error
	bare.door, err = s.openDoor(room, strings.TrimPrefix(bare.argv[i], "--model="))
	return bare, err
}

// captureIn captures the CLI in a new room, and lets it begin its own session.
func (s *scene) captureIn(ctx context.Context, room string) (*bareRun, error) {
	if _, err := s.ask(ctx, room, "number 1000", "got 1000"); err != nil { // there is a container then
		return nil, fmt.Errorf("first answer: %w", err)
	}
	bare, err := s.capture(ctx, room, "hold 1000", func() error {
		_, err := s.ask(ctx, room, "hold 1000", "held 1000")
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := bare.warmUp(ctx, "number 1001", "got 1001"); err != nil {
		bare.close(ctx, &err)
		return nil, err
	}
	return bare, nil
}

// close adds its error to the error of the function that defers it.
func (r *bareRun) close(ctx context.Context, err *error) {
	*err = errors.Join(*err, r.door.gateway.Close(ctx))
}

// find takes the CLI's command line and environment from what look printed.
func (r *bareRun) find(out []byte) {
	for line := range bytes.Lines(out) {
		fields := bytes.Fields(line)
		if len(fields) != 2 {
			continue
		}
		argv, env := words(fields[0]), words(fields[1])
		if !slices.Contains(argv, "--output-format=stream-json") || strings.HasSuffix(argv[0], "boxinit") {
			continue
		}
		switch prompt := slices.IndexFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--prompt=") }); {
		case prompt < 0: // it was parked, and has read its prompt from stdin
			argv = append(argv, "--prompt=[alice]: "+r.held)
		case !strings.Contains(argv[prompt], r.held):
			continue
		}
		r.argv = argv
		r.env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "MATRIX_TUI_RUN=") })
	}
}

func words(encoded []byte) []string {
	data, err := base64.StdEncoding.DecodeString(string(encoded))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// bareTime is how long one bare run took.
type bareTime struct {
	begun, inside time.Time // start of podman exec, and of the CLI in the container
	took          time.Duration
}

// clock prints the time in the container and then becomes the CLI.
const clock = `date +%s%N >&2; exec "$@"`

// run starts the CLI with text in its prompt.
func (r *bareRun) run(ctx context.Context, text, want string) (t bareTime, err error) {
	const session = "11111111-2222-4333-8444-555555555555"
	// A lock left behind costs twelve seconds; the bot removes it, too.
	if out, err := exec.CommandContext(ctx, "podman", "exec", r.container, "rm", "-f",
		"/root/.gemini/projects.json.lock").CombinedOutput(); err != nil {
		return t, fmt.Errorf("remove lock: %w: %s", err, out)
	}
	argv := []string{"exec", "--workdir", "/workspace"}
	for _, v := range r.env {
		argv = append(argv, "--env", v)
	}
	argv = append(argv, r.container)
	if r.clocked {
		argv = append(argv, "sh", "-c", clock, "sh")
	}
	for _, a := range r.argv {
		switch {
		case strings.HasPrefix(a, "--prompt="):
			a = strings.ReplaceAll(a, r.held, text)
		case strings.HasPrefix(a, "--session-id="), strings.HasPrefix(a, "--resume="):
			if a = "--session-id=" + session; r.begun {
				a = "--resume=" + session
			}
		}
		argv = append(argv, a)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "podman", argv...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = r.door.through(func() error {
		t.begun = time.Now()
		err := cmd.Run()
		t.took = time.Since(t.begun)
		return err
	})
	if err != nil || !strings.Contains(stdout.String(), want) {
		return t, fmt.Errorf("bare podman exec: %w: %q not in %s%s", err, want, stdout.String(), stderr.String())
	}
	r.begun = true
	if r.clocked {
		line, _, _ := strings.Cut(stderr.String(), "\n")
		ns, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return t, fmt.Errorf("read the clock of the container: %w", err)
		}
		t.inside = time.Unix(0, ns)
	}
	return t, nil
}

// warmUp starts the session, and continues it once.
func (r *bareRun) warmUp(ctx context.Context, text, want string) error {
	for range 2 {
		if _, err := r.run(ctx, text, want); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	return nil
}
