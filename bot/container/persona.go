package container

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/rs/zerolog"

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

// Persona returns the texts that describe the agent in this room: the policy's persona file and the bootstrap files.
func (s *Sandbox) Persona(ctx context.Context, container *sandbox.Container) []workspace.Text {
	own := map[string]string{}
	var first workspace.Text
	root, err := os.OpenRoot(s.shared.StateDir) // rejects symbolic links to the outside
	if err == nil {
		defer root.Close()
		for _, name := range workspace.BootstrapFiles() {
			own[name] = readPersona(root, name, s.shared.Log)
		}
		if name := s.Rules().Persona; name != "" {
			first = workspace.Text{Name: path.Base(name), Content: readPersona(root, name, s.shared.Log)}
		}
	}
	if !s.bootstrap.Load() {
		return workspace.Persona(first, nil, own)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	argv := append([]string{"sh", "-c", personaScript, "sh"}, workspace.BootstrapFiles()...)
	res, err := container.Exec(ctx, sandbox.Cmd{Argv: argv, MaxOutput: 64 << 10})
	if err != nil {
		s.shared.Log.Warn().Err(err).Str("room", s.room).Msg("cannot read the bootstrap files")
		return workspace.Persona(first, nil, own)
	}
	files := personaFiles(res.Stdout)
	s.bootstrap.Store(len(files) > 0)
	return workspace.Persona(first, files, own)
}

// Without returns the paths of the bootstrap files if the container had none when last looked at. Most rooms have
// none, so they are not read before each run.
func (s *Sandbox) Without() []string {
	if s.bootstrap.Load() {
		return nil
	}
	paths := workspace.BootstrapFiles()
	for i, name := range paths {
		paths[i] = "/workspace/" + name
	}
	return paths
}

// HasBootstrap notes that the container has bootstrap files.
func (s *Sandbox) HasBootstrap() { s.bootstrap.Store(true) }

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
func readPersona(root *os.Root, name string, log zerolog.Logger) string {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := root.Open(name)
	if err != nil {
		log.Warn().Err(err).Str("file", name).Msg("cannot read a persona file")
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, workspace.MaxPersonaFile))
	if err != nil {
		log.Warn().Err(err).Str("file", name).Msg("cannot read a persona file")
	}
	return string(data)
}
