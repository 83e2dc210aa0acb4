package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/bot/text"
	"matrix-tui/sandbox"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
	"matrix-tui/workspace"
)

const (
	// maxFolded bounds the daily logs that are looked at for folding in one Sync.
	maxFolded = 30
	// maxEarlier bounds the line that stands for a day, in bytes.
	maxEarlier = 300
	// mostTelling is how many tasks of a day it names.
	mostTelling = 5
	// maxDayTask bounds the text of each, in bytes.
	maxDayTask = 60
)

// folded is a daily log that is to be removed as soon as its line is in MEMORY.md.
type folded struct{ name, line string }

// fold keeps the oldest daily logs in the index only, and a line for each in MEMORY.md, while the memory files are too
// large. It leaves files alone that are not exactly as the bot wrote them.
func (s *sync1) fold(ctx context.Context, found map[string]stamp) (out []folded, err error) {
	total, logs := int64(0), 0
	for name, is := range found {
		switch source, _ := memory.SourceOf(name); source {
		case memory.SourceLog:
			logs++
			total += is.size
		case memory.SourceMemory:
			total += is.size
		}
	}
	main := found[mainFile].size
	names := newestFirst(found)
	slices.Reverse(names)
	looked, recent := 0, time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	for _, name := range names {
		if total <= maxFile && logs <= maxLogs || looked == maxFolded || main > maxMain-maxEarlier {
			break
		}
		if day := dayOf(name); day == "" || day >= recent || s.edited[name] == found[name] {
			continue
		}
		looked++
		line, ok, err := s.foldOne(ctx, name)
		if err != nil {
			return nil, err
		}
		if !ok {
			if len(s.edited) == 0 || len(s.edited) > maxListed {
				s.edited = map[string]stamp{}
			}
			s.edited[name] = found[name]
			continue
		}
		out = append(out, folded{name, line})
		total, logs, main = total-found[name].size, logs-1, main+int64(len(line))
		delete(found, name)
	}
	return out, nil
}

// foldOne folds one daily log, if nobody but the bot has written it.
func (s *sync1) foldOne(ctx context.Context, name string) (line string, ok bool, err error) {
	written, err := s.x.Written(ctx, name)
	if err != nil || len(written) == 0 {
		return "", false, err
	}
	data, err := s.container.ReadFile(ctx, workspace.Dir+"/"+name, maxFile)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", false, fmt.Errorf("read daily log: %w", err)
	case err != nil && !errors.Is(err, sandbox.ErrNotFound):
		s.log.Warn().Err(err).Str("room", s.x.Room()).Msg("cannot read a daily log")
		return "", false, nil
	case err != nil || string(data) != asWritten(name, written):
		return "", false, nil
	}
	line, event := dayLine(dayOf(name), written)
	return line, true, s.x.Fold(ctx, name, string(data), memory.Line{Event: event, Path: mainFile, Section: "Earlier", Text: line})
}

// unlink removes the daily logs of which MEMORY.md has the line.
func (s *sync1) unlink(ctx context.Context, logs []folded) error {
	for _, one := range logs {
		if !has(s.main, one.line) && !s.forgotten.Text(one.line) {
			continue
		}
		if _, err := s.container.Exec(ctx, sandbox.Cmd{Argv: []string{"rm", "-f", "--", workspace.Dir + "/" + one.name}}); err != nil {
			return fmt.Errorf("remove daily log: %w", err)
		}
		if err := s.x.Unlink(ctx, one.name); err != nil {
			return err
		}
	}
	return nil
}

// asWritten is a daily log to which nobody has added, and from which nobody has removed anything.
func asWritten(name string, lines []memory.Line) string {
	var out strings.Builder
	out.WriteString(title(name))
	for _, l := range lines {
		out.WriteString("- " + l.Text + "\n")
	}
	return out.String()
}

var dailyLog = compiled(`^memory/(\d{4}-\d\d-\d\d)\.md$`)

// dayOf returns the day of a daily log, "" for other files.
func dayOf(name string) string {
	found := dailyLog.FindStringSubmatch(name)
	if found == nil {
		return ""
	}
	return found[1]
}

var (
	logEntry = compiled(`^\d\d:\d\d:\d\d \S+: (.*?) → .* \(([^()]*)\)$`)
	logSteps = compiled(`, (\d+) steps?\b`)
)

// dayLine is the line that stands for a day, and the messages that it comes from: how many tasks there were, and those
// for which the agent did most.
func dayLine(day string, lines []memory.Line) (line, events string) {
	type task struct {
		at, weight int
		text       string
	}
	var tasks []task
	for i, l := range lines {
		one := task{at: i, text: l.Text}
		if found := logEntry.FindStringSubmatch(l.Text); found != nil {
			one.text = found[1]
			if steps := logSteps.FindStringSubmatch(found[2]); steps != nil {
				one.weight, _ = strconv.Atoi(steps[1])
			}
			if strings.Contains(found[2], "; changed ") {
				one.weight += 10
			}
		}
		one.text = clean.Line(one.text, maxDayTask)
		if !slices.ContainsFunc(tasks, func(t task) bool { return t.text == one.text }) {
			tasks = append(tasks, one)
		}
	}
	slices.SortStableFunc(tasks, func(a, b task) int { return cmp.Compare(b.weight, a.weight) })
	tasks = tasks[:min(len(tasks), mostTelling)]
	slices.SortFunc(tasks, func(a, b task) int { return cmp.Compare(a.at, b.at) })
	line = day + ": " + text.Plural(len(lines), "task", "tasks")
	for _, one := range tasks {
		event := lines[one.at].Event
		if len(line)+len(one.text) > maxEarlier-10 || len(events)+len(event) > maxEarlier {
			break
		}
		line += "; " + one.text
		events = strings.TrimSpace(events + " " + event)
	}
	return line, events
}
