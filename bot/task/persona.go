package task

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"matrix-tui/sandbox"
	"matrix-tui/workspace"
)

// personaScript prints the bootstrap files of a container that are regular files, each
// after a line with its name and size.
const personaScript = `cd /workspace && for f in "$@"; do
	[ -f "$f" ] && [ ! -L "$f" ] || continue
	n=$(head -c ` + personaBytes + ` -- "$f" | wc -c)
	printf '%s %s\n' "$f" "$n"; head -c "$n" -- "$f"; printf '\n'
done`

const personaBytes = "8192" // workspace.MaxPersonaFile

// persona returns the texts that describe the agent in this room: the policy's persona
// file and the bootstrap files.
func persona(ctx context.Context, env *Env, container *sandbox.Container) []workspace.Text {
	own := map[string]string{}
	var first workspace.Text
	root, err := os.OpenRoot(env.StateDir) // rejects symbolic links to the outside
	if err == nil {
		defer root.Close()
		for _, name := range workspace.BootstrapFiles() {
			own[name] = readPersona(env, root, name)
		}
		if name := env.rules().Persona; name != "" {
			first = workspace.Text{Name: path.Base(name), Content: readPersona(env, root, name)}
		}
	}
	if !env.bootstrap.Load() {
		return workspace.Persona(first, nil, own)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: append([]string{"sh", "-c", personaScript, "sh"}, workspace.BootstrapFiles()...), MaxOutput: 64 << 10})
	if err != nil {
		env.Log.Warn().Err(err).Str("room", env.ID).Msg("cannot read the bootstrap files")
		return workspace.Persona(first, nil, own)
	}
	files := personaFiles(res.Stdout)
	env.bootstrap.Store(len(files) > 0)
	return workspace.Persona(first, files, own)
}

// bootstrapPaths returns the paths of the bootstrap files in the container.
func bootstrapPaths() []string {
	paths := workspace.BootstrapFiles()
	for i, name := range paths {
		paths[i] = "/workspace/" + name
	}
	return paths
}

// personaFiles parses the output of personaScript, which is untrusted.
func personaFiles(out []byte) map[string]string {
	files := map[string]string{}
	known := workspace.BootstrapFiles()
	for rest := string(out); rest != ""; {
		head, body, _ := strings.Cut(rest, "\n")
		var name string
		var n int
		if _, err := fmt.Sscanf(head, "%s %d", &name, &n); err != nil || n < 0 || n > len(body) {
			return files
		}
		for _, one := range known {
			if one == name {
				files[name] = body[:n]
			}
		}
		rest = strings.TrimPrefix(body[n:], "\n")
	}
	return files
}

// readPersona returns a file of the state directory, or "" if it is not a regular file.
func readPersona(env *Env, root *os.Root, name string) string {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := root.Open(name)
	if err != nil {
		env.Log.Warn().Err(err).Str("file", name).Msg("cannot read a persona file")
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, workspace.MaxPersonaFile))
	if err != nil {
		env.Log.Warn().Err(err).Str("file", name).Msg("cannot read a persona file")
	}
	return string(data)
}
