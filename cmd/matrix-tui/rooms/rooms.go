// Package rooms shows the rooms, what happened in them, and what is left of those that the bot has left.
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
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/engine"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/sentence"
)

// RoomLine is one line of the table.
type RoomLine struct {
	Room, Name, Container, State string
	Stray                        bool      // a container unknown to the state folder
	Task                         time.Time // of the last task, zero if there was none
	Doing, Text                  string    // its state, and its beginning
	Questions                    int       // number of waiting questions
	Since                        time.Time // when the oldest of them was asked
	Space                        string    // that container and volumes take, "" if nobody has asked
}

func Command(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("rooms")
	remove := flags.Bool("remove-left", false,
		"remove container, files, history and transcript of the rooms that the bot has left")
	space := flags.Bool("space", false, "show the space that each room's container and volumes take; it may take a while")
	older := 30 * 24 * time.Hour
	flags.Func("older", "with -remove-left: only rooms that have not been active for this `time` (default 30d)",
		func(text string) (err error) { older, err = parseAge(text); return err })
	if err := a.Parse(flags, args); err != nil {
		return err
	}
	cfg, err := a.Config(nil)
	if err != nil {
		return err
	}
	if *remove {
		return removeLeft(ctx, cfg, older, a.Stdout)
	}
	lines, listErr, err := readRooms(ctx, cfg)
	if err != nil {
		return err
	}
	if *space && listErr == nil {
		if err := measureRooms(ctx, cfg, lines); err != nil {
			return err
		}
	}
	if err := printRooms(a.Stdout, lines); err != nil {
		return err
	}
	if listErr != nil {
		return fmt.Errorf("list containers: %w", listErr)
	}
	podman, err := engine.Connect(ctx, cfg, nil, zerolog.Nop())
	if err != nil {
		return err
	}
	defer podman.Close()
	left, err := leftRooms(ctx, cfg, podman)
	if err != nil {
		fmt.Fprintln(a.Stderr, "matrix-tui: "+sentence.Text(err)) // the table is complete without them
		return nil
	}
	return printLeft(a.Stdout, left)
}

// readRooms combines state.json, the journal and one list of containers. It only reads.
// If podman does not answer, the states are question marks and listErr says why.
func readRooms(ctx context.Context, cfg *settings.Config) (lines []RoomLine, listErr, err error) {
	dir := string(cfg.StateDir)
	store, err := state.ReadStore(dir)
	if err != nil {
		return nil, nil, err
	}
	infos, listErr := listContainers(ctx, cfg)
	lines = JoinRooms(store, infos, listErr == nil)
	nameRooms(ctx, cfg, lines)
	journal, err := state.ReadJournal(ctx, filepath.Join(dir, "journal.db"))
	if errors.Is(err, state.ErrNotFound) {
		return SortRooms(lines), listErr, nil
	}
	if err != nil {
		return nil, listErr, err
	}
	defer cli.Closing(&err, journal.Close)
	for i := range lines {
		if err := lines[i].readTask(ctx, journal); err != nil {
			return nil, listErr, err
		}
	}
	waiting, err := journal.Tasks.Waiting(ctx)
	if err != nil {
		return nil, listErr, err
	}
	countQuestions(lines, waiting)
	return SortRooms(lines), listErr, nil
}

func listContainers(ctx context.Context, cfg *settings.Config) ([]sandbox.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	podman, err := engine.Connect(ctx, cfg, nil, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	defer podman.Close()
	return podman.List(ctx)
}

// JoinRooms compares state.json with podman's containers; listed reports whether podman
// answered.
func JoinRooms(store *state.Store, infos []sandbox.Info, listed bool) []RoomLine {
	byRoom := map[string]*RoomLine{}
	line := func(room string) *RoomLine {
		if byRoom[room] == nil {
			byRoom[room] = &RoomLine{Room: room}
		}
		return byRoom[room]
	}
	for _, room := range store.Rooms() {
		l := line(room)
		l.Container = store.Containers.Of(room)
		switch {
		case l.Container == "":
			l.State = "none"
		case listed:
			l.State = "gone"
		default:
			l.State = "?"
		}
	}
	for _, container := range infos {
		l := line(container.Room)
		if l.Container == "" && l.State == "" {
			l.Stray = true
		}
		if l.Container == "" || l.Container == container.Name {
			l.Container, l.State = container.Name, container.State
		}
	}
	lines := make([]RoomLine, 0, len(byRoom))
	for _, l := range byRoom {
		lines = append(lines, *l)
	}
	return lines
}

// readTask adds the room's newest task.
func (l *RoomLine) readTask(ctx context.Context, journal *state.Journal) error {
	task, err := journal.Tasks.Last(ctx, l.Room)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	l.Task, l.Doing, l.Text = task.Time, doing(task), strings.Join(append([]string{task.Text}, task.Commands...), " ")
	return nil
}

// countQuestions adds the rows that wait for an answer to their rooms' lines.
func countQuestions(lines []RoomLine, waiting []state.Task) {
	at := map[string]*RoomLine{}
	for i := range lines {
		at[lines[i].Room] = &lines[i]
	}
	for _, task := range waiting {
		l := at[task.Room]
		if l == nil {
			continue
		}
		if l.Questions++; l.Questions == 1 || task.Updated.Before(l.Since) { // of the waiting question: when it was asked
			l.Since = task.Updated
		}
	}
}

func doing(task state.Task) string {
	switch task.State {
	case state.TaskQueued:
		return "waits"
	case state.TaskRunning:
		if !task.Due.At.IsZero() {
			return "waits until " + task.Due.At.Local().Format(cli.Minute)
		}
		return "runs"
	case state.TaskWaiting:
		return "asks"
	case state.TaskAnswered, state.TaskDone:
		switch task.Ended {
		case "completed":
			return "done"
		case "stopped":
			return "stopped"
		}
		return "failed"
	}
	return ""
}

// SortRooms puts the most recent activity first.
func SortRooms(lines []RoomLine) []RoomLine {
	slices.SortFunc(lines, func(a, b RoomLine) int {
		return cmp.Or(b.Task.Compare(a.Task), cmp.Compare(a.Room, b.Room))
	})
	return lines
}

// printRooms prints the table. Names and texts come from other people: they must not
// break a line or control the terminal.
func printRooms(w io.Writer, lines []RoomLine) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintln(w, "No rooms yet: invite the bot to one.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	measured := slices.ContainsFunc(lines, func(l RoomLine) bool { return l.Space != "" })
	fmt.Fprintln(table, "ROOM\tNAME\tCONTAINER\tSTATE\t"+column(measured, "SPACE")+"QUESTIONS\tLAST TASK")
	for _, l := range lines {
		questions, task := "-", "-"
		if l.Questions > 0 {
			questions = fmt.Sprintf("%d since %s", l.Questions, l.Since.Local().Format(cli.Minute))
		}
		if l.Stray {
			task = "(not in this STATE_DIR)"
		}
		if !l.Task.IsZero() {
			task = fmt.Sprintf("%s  %-7s  %s", l.Task.Local().Format(cli.Minute), l.Doing, clean.Short(l.Text, 40))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s%s\t%s\n", clean.Short(l.Room, 80), clean.Short(cmp.Or(l.Name, "-"), 30),
			cmp.Or(l.Container, "-"), l.State, column(measured, l.Space), questions, task)
	}
	return table.Flush()
}
