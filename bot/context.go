package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"matrix-tui/bot/media"
	"matrix-tui/bot/policy"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// quoteWindow is how many messages before the one that is replied to are told.
const quoteWindow = 6

// quote is the message that the task replies to, with a few before it; nil when
// it replies to none, or to what the agent's session knows.
func (t *task) quote(ctx context.Context) (*workspace.Quote, error) {
	about := cmp.Or(t.rec.ReplyTo, t.rec.Thread)
	if about == "" {
		return nil, nil
	}
	home := t.rec.Home
	row, err := t.bot.Journal.Event(ctx, home, about)
	if errors.Is(err, state.ErrNotFound) {
		row, err = t.fetch(ctx, home, about)
	}
	if err != nil {
		return nil, err
	}
	quoted, ok := saidIn(row)
	if !ok {
		return nil, nil
	}
	q := &workspace.Quote{Sender: quoted.Sender, Text: quoted.Text}
	if row.Seq == 0 { // older than the journal
		return q, nil
	}
	before, err := t.bot.Journal.Before(ctx, home, row.Seq, quoteWindow)
	if err != nil {
		return nil, fmt.Errorf("read what was said before: %w", err)
	}
	for _, older := range before {
		if line, ok := saidIn(older); ok {
			q.Before = append(q.Before, line)
		}
	}
	return q, nil
}

// fetch asks the homeserver for an event of a room that the journal does not
// have. One that cannot be had is an empty row.
func (t *task) fetch(ctx context.Context, room, event string) (state.Inbound, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	got, err := t.bot.account.Event(call, room, event)
	if err != nil {
		if ctx.Err() != nil {
			return state.Inbound{}, ctx.Err()
		}
		t.bot.log.Info().Err(err).Str("room", room).Msg("could not fetch the quoted event")
		return state.Inbound{}, nil
	}
	row := t.bot.plainRow(ctx, inbound(room, wireEvent{got}, got.Raw, kindArchive))
	if e, _ := parseEvent(row.Raw); !e.Decrypted { // it may be older than the room's encryption: only what is proven is quoted there
		if encrypted, err := t.bot.account.IsEncrypted(ctx, room); err != nil || encrypted {
			return state.Inbound{}, err
		}
	}
	return row, nil
}

// saidIn is what a row says, when it is a message in words.
func saidIn(row state.Inbound) (workspace.Message, bool) {
	e, ok := parseEvent(row.Raw)
	if !ok {
		return workspace.Message{}, false
	}
	m, ok := e.message()
	if !ok || m.RelatesTo.RelType == "m.replace" || strings.TrimSpace(m.Body) == "" {
		return workspace.Message{}, false
	}
	text := taskText(m)
	if f, ok := fileOf(row); ok {
		text = strings.TrimSpace(f.Placeholder() + " " + media.CleanName(f.Name) + "\n" + text)
	}
	return workspace.Message{Sender: localpart(e.Sender), Text: text}, true
}

// personaScript prints the bootstrap files of a box that are regular files, each
// behind a line with its name and size.
const personaScript = `cd /workspace && for f in "$@"; do
	[ -f "$f" ] && [ ! -L "$f" ] || continue
	n=$(head -c ` + personaBytes + ` -- "$f" | wc -c)
	printf '%s %s\n' "$f" "$n"; head -c "$n" -- "$f"; printf '\n'
done`

const personaBytes = "8192" // workspace.MaxPersonaFile

// persona is who the agent is in this room: the policy's persona file and the
// bootstrap files, as they are now.
func (t *task) persona(ctx context.Context, box *sandbox.Container) []workspace.Text {
	own := map[string]string{}
	var first workspace.Text
	root, err := os.OpenRoot(t.bot.StateDir) // a link that leads out of it is refused
	if err == nil {
		defer root.Close()
		for _, name := range workspace.BootstrapFiles() {
			own[name] = t.readPersona(root, name)
		}
		if name := t.bot.policy.Room(t.id).Persona; name != "" {
			first = workspace.Text{Name: path.Base(name), Content: t.readPersona(root, name)}
		}
	}
	if !t.bootstrap.Load() {
		return workspace.Persona(first, nil, own)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	res, err := box.Exec(ctx, sandbox.Cmd{Argv: append([]string{"sh", "-c", personaScript, "sh"}, workspace.BootstrapFiles()...), MaxOutput: 64 << 10})
	if err != nil {
		t.bot.log.Warn().Err(err).Str("room", t.id).Msg("read bootstrap files")
		return workspace.Persona(first, nil, own)
	}
	files := personaFiles(res.Stdout)
	t.bootstrap.Store(len(files) > 0)
	return workspace.Persona(first, files, own)
}

// bootstrapPaths are the bootstrap files in the box.
func bootstrapPaths() []string {
	paths := workspace.BootstrapFiles()
	for i, name := range paths {
		paths[i] = "/workspace/" + name
	}
	return paths
}

// personaFiles reads what personaScript prints. The box may print anything.
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

// readPersona reads a file of the state folder; "" for what is none.
func (t *task) readPersona(root *os.Root, name string) string {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := root.Open(name)
	if err != nil {
		t.bot.log.Warn().Err(err).Str("file", name).Msg("read persona")
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, workspace.MaxPersonaFile))
	if err != nil {
		t.bot.log.Warn().Err(err).Str("file", name).Msg("read persona")
	}
	return string(data)
}

// rules are the room's policy.
func (t *task) rules() policy.Room { return t.bot.policy.Room(t.id) }
