package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"matrix-tui/sandbox"
)

// rest is the pause before each sample: what the last one left goes on for a
// moment in the background.
const rest = 500 * time.Millisecond

// measureReply has the same prompt answered in turns: by the bot in a warm room,
// and by a bare `podman exec` of the CLI in the same box, with the argv and the
// environment that the bot gives it, in a session of its own that grows alike.
func measureReply(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "reply")
	if err != nil {
		return err
	}
	defer s.close(&err)
	if _, err := s.start(ctx); err != nil {
		return err
	}
	room, err := s.room(ctx)
	if err != nil {
		return err
	}
	box := sandbox.NameFor(room)
	cold, err := s.ask(ctx, room, "number 1000", "got 1000")
	if err != nil {
		return fmt.Errorf("first answer: %w", err)
	}
	bare, err := s.capture(ctx, room, box)
	if err != nil {
		return err
	}
	for range 2 { // the session that begins, and one that goes on
		if _, _, err := bare.run(ctx, "number 1001", "got 1001"); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	var replies, bares, ours, before, after, bareBefore, bareAfter []float64
	for i := range b.n {
		number := fmt.Sprint(1100 + i)
		if err := s.settle(ctx); err != nil {
			return err
		}
		mark := s.mark()
		begun := time.Now()
		reply, err := s.ask(ctx, room, "number "+number, "got "+number)
		if err != nil {
			return err
		}
		first, last, err := s.asked(mark, number)
		if err != nil {
			return err
		}
		before, after = append(before, ms(first.Sub(begun))), append(after, ms(begun.Add(reply).Sub(last)))
		if err := s.settle(ctx); err != nil {
			return err
		}
		mark = s.mark()
		begun, alone, err := bare.run(ctx, "number "+number, "got "+number)
		if err != nil {
			return err
		}
		if first, last, err = s.asked(mark, number); err != nil {
			return err
		}
		bareBefore, bareAfter = append(bareBefore, ms(first.Sub(begun))), append(bareAfter, ms(begun.Add(alone).Sub(last)))
		replies, bares, ours = append(replies, ms(reply)), append(bares, ms(alone)), append(ours, ms(reply-alone))
	}
	b.table.add("send → reply, warm room", "ms", 1100, replies...)
	b.table.add("the same prompt by bare podman exec … gemini -p", "ms", 0, bares...)
	b.table.add("send → reply minus bare podman exec (pair by pair)", "ms", 150, ours...)
	b.table.add("  send → the model is asked", "ms", 0, before...)
	b.table.add("  podman exec → the model is asked", "ms", 0, bareBefore...)
	b.table.add("  the model has answered → reply", "ms", 0, after...)
	b.table.add("  the model has answered → podman exec ends", "ms", 0, bareAfter...)
	b.table.add("send → reply, first message of a room (its box is made)", "ms", 0, ms(cold))
	return nil
}

// settle waits until the bot has nothing left to do.
func (s *scene) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.Quiet(ctx); err != nil {
		return err
	}
	return pause(ctx, rest)
}

// mark is the model's newest request.
func (s *scene) mark() int {
	if all := s.Model().Requests(); len(all) > 0 {
		return all[len(all)-1].Seq
	}
	return 0
}

// asked tells when the model was asked about a number, first and last.
func (s *scene) asked(mark int, number string) (first, last time.Time, err error) {
	for _, r := range s.Model().Requests() {
		if r.Seq > mark && strings.Contains(r.User, "number "+number) {
			if last = r.Time; first.IsZero() {
				first = r.Time
			}
		}
	}
	if first.IsZero() {
		return first, last, fmt.Errorf("the model was not asked for number %s", number)
	}
	return first, last, nil
}

// bareRun is the CLI as the bot starts it, to be started without the bot.
type bareRun struct {
	box       string
	argv, env []string
	held      string // what the prompt of argv says
	begun     bool
}

// look prints the command lines and environments of the processes in a box.
const look = `for d in /proc/[0-9]*; do echo "$(base64 -w0 $d/cmdline 2>/dev/null) $(base64 -w0 $d/environ 2>/dev/null)"; done`

// capture looks at the CLI while the bot has it wait for the model.
func (s *scene) capture(ctx context.Context, room, box string) (*bareRun, error) {
	const held = "hold 1000"
	answered := make(chan error, 1)
	go func() {
		_, err := s.ask(ctx, room, held, "held 1000")
		answered <- err
	}()
	bare := &bareRun{box: box, held: held}
	for bare.argv == nil {
		select {
		case err := <-answered:
			return nil, errors.Join(errors.New("the CLI was not seen in the box"), err)
		default:
		}
		out, err := exec.CommandContext(ctx, "podman", "exec", box, "sh", "-c", look).Output()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("look into box %s: %w", box, err), <-answered)
		}
		bare.find(out)
	}
	return bare, <-answered
}

// find takes the CLI's command line and environment from what look printed.
func (r *bareRun) find(out []byte) {
	for line := range bytes.Lines(out) {
		fields := bytes.Fields(line)
		if len(fields) != 2 {
			continue
		}
		argv, env := words(fields[0]), words(fields[1])
		prompt := slices.IndexFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--prompt=") })
		if prompt < 0 || strings.HasSuffix(argv[0], "boxinit") || !strings.Contains(argv[prompt], r.held) {
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

// run starts the CLI with text in its prompt and returns when that was and how
// long it took the command to end.
func (r *bareRun) run(ctx context.Context, text, want string) (begun time.Time, took time.Duration, err error) {
	const session = "11111111-2222-4333-8444-555555555555"
	// A lock that is left behind costs twelve seconds; the bot removes it, too.
	if out, err := exec.CommandContext(ctx, "podman", "exec", r.box, "rm", "-f", "/root/.gemini/projects.json.lock").CombinedOutput(); err != nil {
		return begun, 0, fmt.Errorf("remove lock: %w: %s", err, out)
	}
	argv := []string{"exec", "--workdir", "/workspace"}
	for _, v := range r.env {
		argv = append(argv, "--env", v)
	}
	argv = append(argv, r.box)
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
	begun = time.Now()
	err = cmd.Run()
	took = time.Since(begun)
	if err != nil || !strings.Contains(stdout.String(), want) {
		return begun, 0, fmt.Errorf("bare podman exec: %w: %q not in %s%s", err, want, stdout.String(), stderr.String())
	}
	r.begun = true
	return begun, took, nil
}
