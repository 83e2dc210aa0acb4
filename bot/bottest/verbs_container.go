package bottest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/state/retry"

	"matrix-tui/bot/bottest/host"
)

// containerOf is the container's name for a room of the script.
func (sc *script) containerOf(place string) (string, error) {
	r, err := sc.room(place)
	if err != nil {
		return "", err
	}
	if name, ok := sc.stateValue(".containers[" + place + "]"); ok == nil && name != "" {
		return name, nil
	}
	return sandbox.NameFor(r.id), nil
}

// run runs podman and passes its output on.
func (sc *script) run(ctx context.Context, neg bool, argv []string) error {
	stdout, stderr, code, err := host.Podman(ctx, argv...)
	fmt.Fprint(sc.ts.Stdout(), stdout)
	fmt.Fprint(sc.ts.Stderr(), stderr)
	if err != nil {
		return err
	}
	if (code != 0) != neg {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}

func doInContainer(ctx context.Context, sc *script, neg bool, args []string) error {
	name, err := sc.containerOf(args[0])
	if err != nil {
		return err
	}
	if kube() != "" {
		return sc.inPod(ctx, neg, name, args[1:])
	}
	return sc.run(ctx, neg, append([]string{"exec", name}, args[1:]...))
}

// doPodman is podman's command line, as an operator types it. While another container of the host starts, podman can
// find the mounts of one that it removes busy. Podman's advice is to remove it again, which the verb does for that one
// error.
func doPodman(ctx context.Context, sc *script, neg bool, args []string) error {
	if args[0] == "rm" && !neg {
		return host.Poll(ctx, func() (bool, error) {
			stdout, stderr, code, err := host.Podman(ctx, args...)
			if err == nil && code != 0 && strings.Contains(stderr, "device or resource busy") {
				return false, nil
			}
			fmt.Fprint(sc.ts.Stdout(), stdout)
			fmt.Fprint(sc.ts.Stderr(), stderr)
			if err == nil && code != 0 {
				err = fmt.Errorf("exit code %d", code)
			}
			return true, err
		})
	}
	return sc.run(ctx, neg, args)
}

func doPodmanService(ctx context.Context, sc *script, _ bool, args []string) error {
	switch args[0] {
	case "stop":
		return sc.service.Stop(ctx)
	case "start":
		return sc.service.Start(ctx)
	}
	return fmt.Errorf("usage: podman-service stop|start")
}

// gemini lists the processes of Gemini that do a task in a room's container, or are parked there, without their
// processor time.
func (sc *script) gemini(ctx context.Context, place string, parked bool) (found string, err error) {
	all, err := sc.geminiTimes(ctx, place, parked)
	for line := range strings.Lines(all) {
		fields := strings.Fields(line)
		found += strings.Join(fields[:2], " ") + "\n"
	}
	return found, err
}

func (sc *script) geminiTimes(ctx context.Context, place string, parked bool) (string, error) {
	if kube() != "" {
		return sc.geminisInPod(ctx, place, parked)
	}
	id, err := sc.containerID(ctx, place)
	if err != nil {
		return "", err
	}
	return sc.suite.geminis(ctx, id, parked)
}

// geminis lists the processes of Gemini in a container.
func (s *suite) geminis(ctx context.Context, containerID string, parked bool) (string, error) {
	if s.runtime != "" {
		return host.GeminisInside(ctx, containerID, parked)
	}
	return host.Geminis(containerID, parked)
}

func doGeminiRunning(ctx context.Context, sc *script, neg bool, args []string) error {
	var last error
	err := host.Poll(ctx, func() (bool, error) {
		found, err := sc.gemini(ctx, args[0], false)
		last = err
		return err == nil && (found != "") != neg, nil
	})
	if err != nil {
		return fmt.Errorf("%w (%v)", err, last)
	}
	return nil
}

// doParked waits until the processor time of a parked process does not grow any more.
func doParked(ctx context.Context, sc *script, neg bool, args []string) error {
	list := func() (string, error) { return sc.geminiTimes(ctx, args[0], true) }
	err := error(nil)
	if neg {
		err = host.Poll(ctx, func() (bool, error) {
			found, err := list()
			return err == nil && found == "", nil
		})
	} else {
		err = settled(ctx, 1, list)
	}
	if err != nil {
		return fmt.Errorf("parked in the container of %s: %w", args[0], err)
	}
	return nil
}

// doParkedIn waits until the processor time of exactly n parked processes does not grow any more.
func doParkedIn(ctx context.Context, sc *script, _ bool, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("parked-in: %w", err)
	}
	var last []string
	err = host.Poll(ctx, func() (bool, error) {
		var now []string
		for _, place := range args[1:] {
			found, err := sc.geminiTimes(ctx, place, true)
			if err != nil {
				return false, err
			}
			now = append(now, strings.FieldsFunc(found, func(c rune) bool { return c == '\n' })...)
		}
		done := len(now) == n && slices.Equal(now, last)
		if last = now; done {
			return true, nil
		}
		return false, retry.Sleep(ctx, 500*time.Millisecond)
	})
	if err != nil {
		return fmt.Errorf("Gemini is parked %d times: %w", len(last), err)
	}
	return nil
}

// Parked waits until Gemini is parked in n of the containers and has initialized.
func (b *Bot) Parked(ctx context.Context, n int, containers ...string) error {
	return settled(ctx, n, func() (string, error) {
		lines, err := b.parked(ctx, containers)
		return strings.Join(lines, "\n"), err
	})
}

// ProcessorTime returns the processor time that containers have used so far, all of them together.
func (b *Bot) ProcessorTime(ctx context.Context, containers ...string) (sum time.Duration, err error) {
	out, err := host.MustPodman(ctx, append([]string{"stats", "--no-stream", "--format", "{{.CPUNano}}"},
		containers...)...)
	if err != nil {
		return 0, err
	}
	times := strings.Fields(out)
	if len(times) != len(containers) {
		return 0, fmt.Errorf("podman knows the processor time of %d of %d containers", len(times), len(containers))
	}
	for _, text := range times {
		used, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time: %w", err)
		}
		sum += time.Duration(used)
	}
	return sum, nil
}

// parked is a line for each Gemini that is parked in the containers.
func (b *Bot) parked(ctx context.Context, containers []string) (lines []string, err error) {
	for _, container := range containers {
		if kube() != "" {
			found, err := b.script.suite.podGeminis(ctx, container, true)
			if err == nil && found != "" {
				lines = append(lines, strings.Split(found, "\n")...)
			}
			continue // there may be no pod yet
		}
		id, err := host.MustPodman(ctx, "inspect", "--type", "container", "--format", "{{.Id}}", container)
		if err != nil {
			continue // not yet
		}
		found, err := b.script.suite.geminis(ctx, strings.TrimSpace(id), true)
		if err != nil {
			return nil, err
		}
		if found != "" {
			lines = append(lines, strings.Split(found, "\n")...)
		}
	}
	return lines, nil
}

// settled waits until there are n processes whose processor time does not grow any more.
func settled(ctx context.Context, n int, list func() (string, error)) error {
	last := ""
	return host.Poll(ctx, func() (bool, error) {
		now, err := list()
		if err != nil || now != "" && now == last && strings.Count(now, "\n") >= n-1 {
			return err == nil, nil
		}
		last = now
		return false, retry.Sleep(ctx, 500*time.Millisecond)
	})
}

func doProcess(ctx context.Context, sc *script, _ bool, args []string) error {
	err := host.Poll(ctx, func() (bool, error) {
		found, err := sc.gemini(ctx, args[0], false)
		sc.noted["process "+args[0]] = found
		return err == nil && found != "", nil
	})
	if err != nil {
		return fmt.Errorf("Gemini does not run in the container of %s: %w", args[0], err)
	}
	return nil
}

func doSameProcess(ctx context.Context, sc *script, _ bool, args []string) error {
	want := sc.noted["process "+args[0]]
	if want == "" {
		return fmt.Errorf("process %s comes first", args[0])
	}
	got, err := sc.gemini(ctx, args[0], false)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("pid and start were %q, are %q", want, got)
	}
	return nil
}

func (sc *script) containerID(ctx context.Context, place string) (string, error) {
	name, err := sc.containerOf(place)
	if err != nil {
		return "", err
	}
	if kube() != "" {
		id, err := sc.suite.kubectl(ctx, "get", "pod", strings.ToLower(name), "--output", "jsonpath={.metadata.uid}").Output()
		return string(id), err
	}
	id, err := host.MustPodman(ctx, "inspect", "--type", "container", "--format", "{{.Id}}", name)
	return strings.TrimSpace(id), err
}

func doContainer(ctx context.Context, sc *script, _ bool, args []string) error {
	id, err := sc.containerID(ctx, args[0])
	sc.noted["container "+args[0]] = id
	return err
}

func doSameContainer(ctx context.Context, sc *script, neg bool, args []string) error {
	want := sc.noted["container "+args[0]]
	if want == "" {
		return fmt.Errorf("container %s comes first", args[0])
	}
	got, err := sc.containerID(ctx, args[0])
	if err != nil {
		return err
	}
	if (got == want) == neg {
		return fmt.Errorf("container was %.12s, is %.12s", want, got)
	}
	return nil
}
