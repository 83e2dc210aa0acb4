package task

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/workspace"
)

// shelveScript moves what the agent and Gemini CLI have noted about earlier tasks into
// the new folder $1, and prints the name of each thing that it has moved. The CLI loads
// all of it into a new session. Its sessions stay: a task that waits for an answer
// continues one. So do memory files in which nothing is noted, which say no more than $2
// (context.md) and $3 (status.md): an agent that waits already has created them.
const shelveScript = `cd /workspace || exit
put() {
	[ -e "$1" ] || [ -L "$1" ] || return 0
	[ -n "$made" ] || { mkdir -- "$folder" && made=1 || exit; }
	mv -- "$1" "$folder/$2" && echo "$2" || exit
}
blank() { [ -f "$1" ] && [ ! -L "$1" ] && [ "$(head -c 65536 -- "$1")" = "$2" ]; }
folder=$1 made=
blank context.md "$2" || put context.md context.md
blank status.md "$3" || put status.md status.md
put GEMINI.md GEMINI.md
put /root/.gemini/GEMINI.md home-GEMINI.md
for f in /root/.gemini/tmp/*/memory; do put "$f" "gemini-memory-$(basename "$(dirname "$f")")"; done
`

// maxShelved bounds the names of the things moved, in bytes.
const maxShelved = 8 << 10

// Shelve moves the notes of earlier tasks out of the agent's sight, into a folder of the
// workspace whose path it returns; "" if there were none. No task may be running.
func (e *Env) Shelve(ctx context.Context, now time.Time) (folder string, err error) {
	if e.Store.Container(e.ID) == "" {
		return "", nil // no task has run yet
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	container, err := e.Ensure(ctx, false)
	if err != nil {
		return "", err
	}
	name := "before-" + now.UTC().Format("2006-01-02-150405")
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: []string{"sh", "-c", shelveScript, "sh", name,
		strings.TrimRight(workspace.FirstContext, "\n"), strings.TrimRight(workspace.FirstStatus, "\n")}, MaxOutput: maxShelved})
	if err != nil {
		return "", fmt.Errorf("move the agent's notes: %w", err)
	}
	if res.Code != 0 {
		return "", fmt.Errorf("move the agent's notes: exit %d", res.Code)
	}
	if strings.TrimSpace(string(res.Stdout)) == "" {
		return "", nil
	}
	return workspace.Dir + "/" + name, nil
}
