package command

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"matrix-tui/bot/stop"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// status runs !status.
func status(ctx context.Context, c *Call) (string, error) {
	lines, err := c.workLines(ctx)
	if err != nil {
		return "", err
	}
	used, err := c.Env.Budget.UsageLine(ctx, c.Env.ID, time.Now())
	if err != nil {
		return "", err
	}
	return endLists(strings.Join(append(lines, c.containerLines(ctx), c.modelLine(), used), "\n")), nil
}

var listEnd = regexp.MustCompile(`(?m)(^- .*\n)([^-\n])`)

// endLists puts an empty line after each list, because Markdown takes a line that follows as part of the last item.
func endLists(text string) string { return listEnd.ReplaceAllString(text, "$1\n$2") }

// workLines returns lines about the running task, the queued tasks and the open questions.
func (c *Call) workLines(ctx context.Context) ([]string, error) {
	waiting, err := c.Env.Journal.Tasks.WaitingIn(ctx, c.Env.ID)
	if err != nil {
		return nil, fmt.Errorf("read waiting tasks: %w", err)
	}
	queued, err := c.Env.Journal.Tasks.Count(ctx, c.Env.ID, state.TaskQueued)
	if err != nil {
		return nil, fmt.Errorf("count queued tasks: %w", err)
	}
	current := c.Current()
	rec, err := c.Ahead(ctx, current)
	if err != nil {
		return nil, err
	}
	running := "No task is running."
	switch {
	case current != nil:
		running = runningLine(current)
	case rec.Due.Why != "":
		running = "A task is waiting. " + rec.Due.Why
	}
	// it counts as queued until its run is about to start
	if rec.State == state.TaskQueued && rec.StopBy == "" && (current != nil || rec.Due.Why != "") {
		queued--
	}
	lines := []string{running + " " + text.Plural(queued, "task is", "tasks are") + " queued."}
	for _, one := range waiting[:min(len(waiting), 5)] {
		question := c.Env.Task(one).Question()
		lines = append(lines, "- Waiting for an answer until "+question.Until()+": "+question.Line(ctx))
	}
	return lines, nil
}

// runningLine says what the current task is at.
func runningLine(current *task.Work) string {
	p, shown := current.Progress()
	took := text.Duration(p.Elapsed)
	switch {
	case !shown:
		return "A task is running."
	case p.Queued != "":
		return "A task has been " + p.Queued + " for " + took + "."
	case p.Step != "":
		return "A task has been running for " + took + ", now " + p.Step + "."
	}
	return "A task has been running for " + took + "."
}

// usageScript prints the container's memory and disk usage in bytes. It supports
// cgroups v1 and v2, and a container with a kernel of its own ($1 is its runtime), and gives up on a large tree after
// five seconds.
const usageScript = `if [ "$1" ]; then awk '$1 == "MemTotal:" {t = $2} $1 == "MemAvailable:" {print (t - $2) * 1024}' /proc/meminfo
else cat /sys/fs/cgroup/memory.current 2>/dev/null || cat /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null || echo -
fi
timeout 5 du -sk /workspace /root 2>/dev/null | awk '{s+=$1} END {print s*1024}'`

// containerLines returns a line about the room's container and its usage, and what tasks have left running in it.
func (c *Call) containerLines(ctx context.Context) string {
	if c.Env.Store.Containers.Of(c.Env.ID) == "" {
		return "The room has no container yet: the first task creates it."
	}
	line, uses := "The container", []string(nil)
	if c.Env.Warm.Has(c.Env.ID) {
		line = "The agent waits for your next task. " + line
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	container, err := c.Env.Ensure(ctx, false)
	if err != nil {
		return line + ": " + sentence.Log(c.Env.Log, err)
	}
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", usageScript, "sh", c.Env.Runtime},
		MaxOutput: 4 << 10})
	if err != nil {
		return line + ": " + sentence.Log(c.Env.Log, err)
	}
	fields := strings.Fields(string(res.Stdout))
	for i, what := range []string{" of memory", " of disk"} {
		if i < len(fields) {
			if n, err := strconv.ParseInt(fields[i], 10, 64); err == nil && n > 0 {
				uses = append(uses, text.Size(int64(n))+what)
			}
		}
	}
	if line += " is running"; len(uses) > 0 {
		line += " and uses " + strings.Join(uses, " and ")
	}
	list, err := container.Left(ctx)
	switch {
	case err != nil:
		return line + ".\n" + sentence.Log(c.Env.Log, err)
	case len(list) == 0:
		return line + "."
	}
	return line + ".\nEarlier tasks left this running, and `!stop all` ends it:\n" + stop.LeftLines(list)
}

// usage runs !usage.
func usage(ctx context.Context, c *Call) (string, error) {
	return c.Env.Budget.Usage(ctx, c.Env.ID, time.Now())
}
