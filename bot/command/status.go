package command

import (
	"context"
	"regexp"
	"strings"
	"time"

	"matrix-tui/bot/schedule"
	room "matrix-tui/bot/status"
	"matrix-tui/bot/stop"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
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
	return endLists(strings.Join(append(lines, c.containerLines(ctx), ModelLine(c.Env), used), "\n")), nil
}

var listEnd = regexp.MustCompile(`(?m)(^- .*\n)([^-\n])`)

// endLists puts an empty line after each list, because Markdown takes a line that follows as part of the last item.
func endLists(text string) string { return listEnd.ReplaceAllString(text, "$1\n$2") }

// workLines returns lines about the running task, the queued tasks and the open questions.
func (c *Call) workLines(ctx context.Context) ([]string, error) {
	now, err := room.Of(ctx, c.Turn)
	if err != nil {
		return nil, err
	}
	running := "No task is running."
	switch {
	case now.Current != nil:
		running = runningLine(now.Current)
	case now.Rests():
		running = "A task is waiting. " + now.Next.Due.Why
	}
	lines := []string{running + " " + text.Plural(now.Queued, "task is", "tasks are") + " queued."}
	for _, one := range now.Waiting[:min(len(now.Waiting), 5)] {
		question := c.Env.Task(one).Question()
		lines = append(lines, "- Waiting for an answer until "+question.Until()+": "+question.Line(ctx))
	}
	upcoming, err := schedule.Upcoming(ctx, c.Env)
	if upcoming != "" {
		lines = append(lines, upcoming)
	}
	return lines, err
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

// containerLines returns a line about the room's container and its usage, and what tasks have left running in it.
func (c *Call) containerLines(ctx context.Context) string {
	if c.Env.Store.Containers.Of(c.Env.ID) == "" {
		return "The room has no container yet: the first task creates it."
	}
	line := "The container"
	if c.Env.Warm.Has(c.Env.ID) {
		line = "The agent waits for your next task. " + line
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	container, err := c.Env.Ensure(ctx, false, nil)
	if err != nil {
		return line + ": " + sentence.Log(c.Env.Log, err)
	}
	use, err := c.Env.Measure(ctx, container)
	if err != nil {
		return line + ": " + sentence.Log(c.Env.Log, err)
	}
	if line += " is running"; Uses(use.Memory, use.Disk) != "" {
		line += " and uses " + Uses(use.Memory, use.Disk)
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

// Uses says what a container uses, in bytes: "12 MB of memory and 1 GB of disk". What is 0 is unknown.
func Uses(memory, disk int64) string {
	var uses []string
	if memory > 0 {
		uses = append(uses, text.Size(memory)+" of memory")
	}
	if disk > 0 {
		uses = append(uses, text.Size(disk)+" of disk")
	}
	return strings.Join(uses, " and ")
}

// usage runs !usage.
func usage(ctx context.Context, c *Call) (string, error) {
	return c.Env.Budget.Usage(ctx, c.Env.ID, time.Now())
}
