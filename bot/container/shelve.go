package container

import (
	"context"
	"fmt"
	"strings"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/sandbox"
	"matrix-tui/workspace"
)

// shelveScript moves what the agent and Gemini CLI have noted about earlier tasks into the folder $1, unless $4 is
// empty, and prints the folder's name if it exists. The CLI loads all of it into a new session. Its sessions stay: a
// task that waits for an answer continues one. So do memory files in which nothing is noted, which say no more than $2
// (context.md) and $3 (status.md): an agent that waits already has created them.
//
// It may run again, also while an earlier one still does: it overwrites nothing in the folder.
const shelveScript = `cd /workspace || exit
folder=$1
trap '[ ! -d "$folder" ] || echo "$folder"' EXIT
[ -n "$4" ] || exit 0
there() { [ -e "$1" ] || [ -L "$1" ]; }
put() {
	there "$1" || return 0
	mkdir -p -- "$folder" && mv -T --backup=numbered -- "$1" "$folder/$2" || ! there "$1" || exit 1
}
blank() { [ -f "$1" ] && [ ! -L "$1" ] && [ "$(head -c 65536 -- "$1")" = "$2" ]; }
blank context.md "$2" || put context.md context.md
blank status.md "$3" || put status.md status.md
put GEMINI.md GEMINI.md
put /root/.gemini/GEMINI.md home-GEMINI.md
for f in /root/.gemini/tmp/*/memory; do put "$f" "gemini-memory-$(basename "$(dirname "$f")")"; done
`

// shelveLook bounds a look for the folder while a task is running: a stop request may wait for it.
const shelveLook = 5 * time.Second

// Shelve moves the notes of earlier tasks out of the agent's sight, into a folder of the workspace that the time of the
// request names, so that a repeated request uses the same. It returns the path of that folder, "" if there is none:
// also after an error, because some notes may be there. While a task is running, nothing is moved.
func (s *Sandbox) Shelve(ctx context.Context, requested time.Time, running bool) (folder string, err error) {
	if s.shared.Store.Containers.Of(s.room) == "" {
		files, err := s.shared.Podman.HasVolumes(ctx, s.shared.Store.VolumesOf(s.room))
		if err != nil || !files { // no task has run yet
			return "", err
		}
	}
	name, move, limit := "before-"+requested.UTC().Format("2006-01-02-150405.000"), "move", time.Minute
	if running {
		move, limit = "", shelveLook
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	folder = workspace.Dir + "/" + name
	container, err := s.Ensure(ctx, false, nil)
	if err != nil {
		return folder, err
	}
	res, err := container.Exec(ctx, sandbox.Cmd{MaxOutput: 1 << 10, Argv: []string{"sh", "-c", shelveScript, "sh", name,
		strings.TrimRight(workspace.FirstContext, "\n"), strings.TrimRight(workspace.FirstStatus, "\n"), move}})
	if err != nil {
		return folder, fmt.Errorf("move the agent's notes: %w", err)
	}
	if strings.TrimSpace(string(res.Stdout)) == "" {
		folder = ""
	}
	if res.Code != 0 {
		return folder, fmt.Errorf("move the agent's notes: exit %d", res.Code)
	}
	crash.At("shelved")
	return folder, nil
}
