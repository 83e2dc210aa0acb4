package bottest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// renamed lists verbs whose names testscript reserves. They are replaced before testscript sees them; line numbers stay
// the same.
var renamed = map[string]string{"kill": "bot-kill", "stop": "bot-stop"}

const (
	// doubleMark, on a line of its own, makes a script run a second time, in encrypted rooms.
	doubleMark = "# also encrypted"
	// singleMark, on a line of its own, ends that second run: what follows does not depend on encryption.
	singleMark = "# unencrypted only from here"
	// eachMark begins a line `# for each NAME: VALUE…`: the script runs once with each value of the variable $NAME, as
	// SCRIPT-VALUE.
	eachMark = "# for each "
	// doubleName is the suffix of that second run's name.
	doubleName = "-in-encrypted-rooms"
	// synapseMark, on a line of its own, makes a script of Dendrite's run on Synapse, too; synapseName is that run's
	// suffix.
	synapseMark = "# also on Synapse"
	synapseName = "-on-synapse"
	// onlyMark begins a line that says why a script runs on Synapse only.
	onlyMark = "# only on Synapse: "
	// warmMark begins a line that says why a script runs only where agents wait for tasks.
	warmMark = "# only where agents wait: "
)

// allCold reports whether no agent waits for tasks, in any script that does not say how many do.
func allCold() bool { return os.Getenv("MATRIX_TUI_COLD") != "" }

// allEncrypted reports whether every script runs in encrypted rooms, once.
func allEncrypted() bool { return os.Getenv("MATRIX_TUI_ENCRYPTED") != "" }

// prepare copies the scripts of dir to a folder with their verbs renamed, those with a double twice, and returns the
// copies, those that probably take longest first. They are for the given homeserver; noSynapse says why those for
// Synapse are skipped, if they are.
func prepare(dir, to, software, noSynapse string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, fmt.Errorf("find scripts: %w", err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of the scripts: %w", err)
	}
	var copies []string
	costs := map[string]cost{}
	for _, path := range paths {
		script, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		for name, script := range versions(strings.TrimSuffix(filepath.Base(path), ".txtar"), string(script)) {
			for _, suffix := range suffixes(script, software) {
				dst, play := filepath.Join(to, name+suffix+".txtar"), rename(script)
				if allCold() {
					play = skip(play, warmMark, "")
				}
				switch {
				case suffix == doubleName:
					play = shorten(play)
				case suffix == synapseName && noSynapse != "":
					play = skip(play, synapseMark, noSynapse)
				case software == "Dendrite":
					play = skip(play, onlyMark, "")
				}
				if err := os.WriteFile(dst, []byte(play), 0o600); err != nil {
					return nil, fmt.Errorf("write script: %w", err)
				}
				copies, costs[dst] = append(copies, dst), costOf(play)
			}
		}
	}
	slices.Sort(copies)
	slices.SortStableFunc(copies, func(a, b string) int {
		return cmp.Or(cmp.Compare(costs[b].deadline, costs[a].deadline), cmp.Compare(costs[b].lines, costs[a].lines))
	})
	return copies, nil
}

// versions returns what a script is played as, by name: once with each value of its variable, if it has one.
func versions(name, script string) map[string]string {
	lines := scriptLines(script)
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, eachMark) })
	if at < 0 {
		return map[string]string{name: script}
	}
	variable, values, _ := strings.Cut(strings.TrimPrefix(lines[at], eachMark), ":")
	all, files := map[string]string{}, script[len(strings.Join(lines, "")):]
	for _, value := range strings.Fields(values) {
		lines[at] = "env " + variable + "=" + value + "\n"
		all[name+"-"+value] = strings.Join(lines, "") + files
	}
	return all
}

// suffixes are those of the names under which a script is played.
func suffixes(script, software string) []string {
	all := []string{""}
	if marked(script, doubleMark) && !allEncrypted() {
		all = append(all, doubleName)
	}
	if marked(script, synapseMark) && software == "Dendrite" {
		all = append(all, synapseName)
	}
	return all
}

// cost is an estimate of how long a script takes: scripts that wait long have a long `deadline`.
type cost struct {
	deadline time.Duration
	lines    int
}

func costOf(archive string) (c cost) {
	for _, line := range scriptLines(archive) {
		if limit, ok := strings.CutPrefix(line, "deadline "); ok {
			if d, err := time.ParseDuration(strings.TrimSpace(limit)); err == nil { // the verb reports the error
				c.deadline = max(c.deadline, d)
			}
		}
		c.lines++
	}
	return c
}

// marked reports whether the script part of a txtar archive has the mark.
func marked(archive, mark string) bool { return slices.Contains(scriptLines(archive), mark+"\n") }

// skip turns the line that begins with a mark, if there is one, into the end of the script. The reason is the rest of
// the line, and what is given.
func skip(archive, mark, reason string) string {
	lines := scriptLines(archive)
	files := archive[len(strings.Join(lines, "")):]
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			lines[i] = "skip '" + strings.ReplaceAll(strings.TrimSpace(rest)+reason, "'", "''") + "'\n"
		}
	}
	return strings.Join(lines, "") + files
}

// scriptLines returns the lines of the script part of a txtar archive.
func scriptLines(archive string) []string {
	lines := strings.SplitAfter(archive, "\n")
	if end := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "-- ") }); end >= 0 {
		return lines[:end]
	}
	return lines
}

// shorten ends the script part of a txtar archive at singleMark.
func shorten(archive string) string {
	lines := scriptLines(archive)
	files := archive[len(strings.Join(lines, "")):]
	if end := slices.Index(lines, singleMark+"\n"); end >= 0 {
		lines = lines[:end]
	}
	return strings.Join(lines, "") + files
}

// rename replaces the reserved verbs in the script part of a txtar archive.
func rename(archive string) string {
	lines := scriptLines(archive)
	files := archive[len(strings.Join(lines, "")):]
	for i, line := range lines {
		verb, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if to, ok := renamed[verb]; ok {
			lines[i] = strings.TrimRight(to+" "+rest, " ") + "\n"
		}
	}
	return strings.Join(lines, "") + files
}
