package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/transcripts"
)

const (
	logsMost  = 10_000      // entries that -n can ask for
	logsBytes = 8 << 20     // of a transcript that are read
	logsText  = 400         // characters of one entry
	logsPause = time.Second // between two reads with -f
)

// entry is one event in a room's log.
type entry struct {
	at         time.Time
	kind, text string
}

func Logs(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("logs")
	n := flags.Int("n", 50, "number of entries to show")
	follow := flags.Bool("f", false, "keep printing new entries until Ctrl-C")
	wanted, err := a.ParseOne(flags, args, "ROOM")
	if err != nil {
		return err
	}
	if *n < 1 || *n > logsMost {
		return &cli.UsageError{Text: fmt.Sprintf("-n takes a number from 1 to %d", logsMost)}
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	rooms, _, err := readRooms(ctx, cfg) // without podman the states are unknown, and that is said
	if err != nil {
		return err
	}
	room, err := ChooseRoom(rooms, wanted)
	if err != nil {
		return err
	}
	source := logSource{dir: string(cfg.StateDir), room: *room, engine: cfg.Engine, hide: knownSecrets(cfg)}
	return source.print(ctx, a.Stdout, *n, *follow)
}

// ChooseRoom finds a room by ID, container name or display name, or by a unique prefix
// of one of them.
func ChooseRoom(rooms []RoomLine, wanted string) (*RoomLine, error) {
	fits := func(same func(string) bool) (found []*RoomLine) {
		for i, r := range rooms {
			if slices.ContainsFunc([]string{r.Room, r.Container, r.Name},
				func(name string) bool { return name != "" && same(name) }) {
				found = append(found, &rooms[i])
			}
		}
		return found
	}
	low := strings.ToLower(wanted)
	for _, same := range []func(string) bool{
		func(name string) bool { return name == wanted },
		func(name string) bool { return strings.ToLower(name) == low },
		func(name string) bool {
			name = strings.TrimLeft(strings.TrimPrefix(strings.ToLower(name), "sandbox-"), "!")
			return wanted != "" && strings.HasPrefix(name, strings.TrimLeft(strings.TrimPrefix(low, "sandbox-"), "!"))
		},
	} {
		switch found := fits(same); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			names := make([]string, len(found))
			for i, r := range found {
				names[i] = cmp.Or(r.Container, r.Room)
			}
			slices.Sort(names)
			return nil, &cli.UsageError{Text: fmt.Sprintf("%q matches %s; use the container name or the room ID",
				clean.Short(wanted, 80), clean.Short(strings.Join(names, ", "), 400))}
		}
	}
	return nil, &cli.UsageError{Text: fmt.Sprintf("no room named %q; `matrix-tui rooms` lists them",
		clean.Short(wanted, 80))}
}

// logSource is where the entries of one room come from.
type logSource struct {
	dir    string
	room   RoomLine
	engine settings.Engine
	hide   []settings.Secret
}

// print shows the newest n entries, and with follow those that come later.
func (s logSource) print(ctx context.Context, w io.Writer, n int, follow bool) error {
	head, err := s.head(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, head); err != nil {
		return err
	}
	said := map[entry]bool{}
	for first := true; ; first = false {
		lines, err := transcripts.Read(s.dir, s.room.Room, logsBytes)
		if err != nil {
			return err
		}
		now := make(map[entry]bool, len(lines))
		for i, line := range lines {
			e := transcriptEntry(line)
			if now[e] = true; said[e] || first && i < len(lines)-n {
				continue
			}
			if _, err := fmt.Fprintln(w, s.line(e)); err != nil {
				return err
			}
		}
		if first {
			fmt.Fprintln(w, s.elsewhere())
		}
		if !follow {
			return nil
		}
		said = now
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logsPause):
		}
	}
}

// elsewhere says where the bot's own log is.
func (s logSource) elsewhere() string {
	command, room := "journalctl -u matrix-tui -o cat -g", clean.Short(s.room.Room, logsText)
	if pod, namespace := cli.Pod(); pod != "" {
		command = "kubectl -n " + namespace + " logs " + pod + " | grep -F"
	}
	return fmt.Sprintf("(what the bot logged: %s '%s')", command, room)
}

// transcriptEntry converts a line of a transcript.
func transcriptEntry(line transcripts.Line) entry {
	e := entry{at: line.Time, kind: line.Kind, text: line.Text}
	switch line.Kind {
	case transcripts.KindBegin:
		e.kind = "task"
	case transcripts.KindUser:
		e.kind = "said"
	case transcripts.KindAssistant:
		e.kind = "agent"
	case transcripts.KindTool:
		e.text = strings.TrimSpace(line.Tool + " " + line.Text)
	case transcripts.KindEnd:
		e.text = cmp.Or(line.Outcome, "ended")
	}
	return e
}

// head describes the room and its state.
func (s logSource) head(ctx context.Context) (string, error) {
	r := s.room
	text := "room " + r.Room
	if r.Name != "" {
		text += " (" + r.Name + ")"
	}
	if r.Container != "" {
		text += ", container " + r.Container + ", " + cmp.Or(strings.Trim(r.State, "?"),
			"state unknown: "+string(s.engine)+" does not answer")
	}
	journal, err := state.ReadJournal(ctx, filepath.Join(s.dir, "journal.db"))
	if errors.Is(err, state.ErrNotFound) {
		return clean.Short(text, logsText), nil
	}
	if err != nil {
		return "", err
	}
	unfinished := 0
	unsent, errs := journal.Messages.Unsent(ctx, r.Room)
	for _, one := range []state.TaskState{state.TaskQueued, state.TaskRunning, state.TaskAnswered} {
		n, err := journal.Tasks.Count(ctx, r.Room, one)
		unfinished, errs = unfinished+n, errors.Join(errs, err)
	}
	if err := errors.Join(errs, journal.Close()); err != nil {
		return "", err
	}
	for _, has := range []struct {
		n    int
		what string
	}{{unfinished, "running or queued"}, {r.Questions, "waiting for an answer"}, {len(unsent), "unsent messages"}} {
		if has.n > 0 {
			text += fmt.Sprintf("; %d %s", has.n, has.what)
		}
	}
	return clean.Short(text, logsText), nil
}

// line formats an entry. Its text comes from other people: it must not break the line,
// control the terminal or reveal one of the bot's secrets.
func (s logSource) line(e entry) string {
	text := clean.Short(cli.Conceal(e.text, s.hide...), logsText)
	return fmt.Sprintf("%s  %-5s  %s", e.at.Local().Format("2006-01-02 15:04:05"), e.kind, text)
}

// knownSecrets are the secrets in this host's settings and login.
func knownSecrets(cfg *settings.Config) []settings.Secret {
	return []settings.Secret{cfg.Password, cfg.AccessToken, cfg.GeminiKey, cfg.APIToken, cli.LoadLogin(cfg).Token}
}
