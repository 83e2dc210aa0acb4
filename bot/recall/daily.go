package recall

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/workspace"
)

// log is the entry of the daily log.
func (o observer) log() []memory.Line {
	t := o.task
	task := o.asked()
	if task == "" {
		return nil
	}
	text := fmt.Sprintf("%s %s: %s → %s (%s", t.Ended.Format("15:04:05"), whom(t.By), clean.Line(task, 160), clean.Line(o.outcome(), 200), t.Ended.Sub(t.Began).Round(100*time.Millisecond))
	if n := len(t.Calls); n > 0 {
		text += fmt.Sprintf(", %d %s", n, map[bool]string{true: "step", false: "steps"}[n == 1])
	}
	if files := changed(t.Calls); len(files) > 0 {
		text += "; changed " + o.short(strings.Join(files, ", "))
	}
	path := logFolder + t.Ended.Format(time.DateOnly) + ".md"
	return []memory.Line{{Event: t.Event, Path: path, Text: text + ")"}}
}

// prior is the line in context.md of a task that did something.
func (o observer) prior() []memory.Line {
	t := o.task
	task := o.asked()
	if task == "" || !t.Success || len(t.Calls) == 0 {
		return nil
	}
	text := fmt.Sprintf("[%s] %s → %s", t.Ended.Format(time.DateOnly), clean.Line(task, 120), clean.Line(o.outcome(), 160))
	return []memory.Line{{Event: t.Event, Path: contextFile, Section: workspace.PriorTasks, Text: text}}
}

// changed lists the files that the agent wrote, at most ten.
func changed(calls []Call) (files []string) {
	for _, c := range calls {
		if (c.Tool == "write_file" || c.Tool == "replace") && !c.Failed && c.Detail != "" && !slices.Contains(files, c.Detail) {
			files = append(files, strings.TrimPrefix(c.Detail, "/workspace/"))
		}
	}
	return files[:min(len(files), 10)]
}
