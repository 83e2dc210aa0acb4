package recall

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/workspace"
)

// How much of a task's text a line has, in bytes.
const (
	maxLogTask   = 160
	maxPriorTask = 120
)

// log is the entry of the daily log.
func (o observer) log() []memory.Line {
	t := o.task
	task := o.asked()
	if task == "" {
		return nil
	}
	entry := fmt.Sprintf("%s %s: %s → %s (%s", t.Ended.Format("15:04:05"), whom(t.By),
		clean.Line(task, maxLogTask), clean.Line(o.outcome(), 200), t.Ended.Sub(t.Began).Round(100*time.Millisecond))
	if n := len(t.Calls); n > 0 {
		entry += ", " + text.Plural(n, "step", "steps")
	}
	if files := changed(t.Calls); len(files) > 0 {
		entry += "; changed " + o.short(strings.Join(files, ", "))
	}
	path := logFolder + t.Ended.Format(time.DateOnly) + ".md"
	return []memory.Line{{Event: t.Event, Path: path, Text: entry + ")"}}
}

// prior is the line in context.md of a task that did something.
func (o observer) prior() []memory.Line {
	t := o.task
	task := o.asked()
	if task == "" || !t.Success || len(t.Calls) == 0 {
		return nil
	}
	line := fmt.Sprintf("[%s] %s → %s", t.Ended.Format(time.DateOnly), clean.Line(task, maxPriorTask), clean.Line(o.outcome(), 160))
	return []memory.Line{{Event: t.Event, Path: contextFile, Section: workspace.PriorTasks, Text: line}}
}

// changed lists the files that the agent wrote, at most ten.
func changed(calls []Call) (files []string) {
	for _, c := range calls {
		file := strings.TrimPrefix(c.Detail, "/workspace/")
		if (c.Tool == "write_file" || c.Tool == "replace") && !c.Failed && file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files[:min(len(files), 10)]
}
