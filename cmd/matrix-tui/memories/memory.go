// Package memories shows and corrects what the rooms remember.
package memories

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"matrix-tui/bot/recall"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/rooms"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state"
	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

// memoryAction is one of the things that `matrix-tui memory` does.
type memoryAction struct {
	name, argument, about string
	run                   func(ctx context.Context, m *memoryCall) error
}

var memoryActions = []memoryAction{
	{"status", "", "show what is kept, for one room or all", memoryStatus},
	{"search", "QUERY", "search the memory of a room", memorySearch},
	{"add", "TEXT", "add a lasting note", memoryAdd},
	{"forget", "ID", "remove an entry, or with -text all that contain a text", memoryForget},
	{"reindex", "", "build the index of a room again, or of all", memoryReindex},
	{"import", "FILE…", "import conversations: JSON lines {\"role\",\"name\",\"content\",\"time\"}", memoryImport},
}

// memoryCall is a call of `matrix-tui memory` with its flags.
type memoryCall struct {
	app   *cli.App
	cfg   *settings.Config
	dir   string // STATE_DIR
	room  string
	query string
	text  string
	kind  string
	scope string
	n     int
	least float64
	json  bool
	given []string // arguments
}

// Command shows and changes what the rooms remember. It needs STATE_DIR only; the bot may be running.
func Command(ctx context.Context, a *cli.App, args []string) error {
	if len(args) == 0 {
		return &cli.UsageError{Text: "memory: say what to do: " + memoryNames()}
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Fprint(a.Stdout, "usage: matrix-tui memory ACTION [flags]\n\n")
		for _, action := range memoryActions {
			fmt.Fprintf(a.Stdout, "  %-16s %s\n", action.name+" "+action.argument, action.about)
		}
		fmt.Fprint(a.Stdout, "\n`matrix-tui memory ACTION -help` lists the flags.\n")
		return nil
	}
	at := slices.IndexFunc(memoryActions, func(action memoryAction) bool { return action.name == args[0] })
	if at < 0 {
		return &cli.UsageError{Text: fmt.Sprintf("memory: unknown action %q; expected one of %s", clean.Short(args[0], 80),
			memoryNames())}
	}
	m, err := memoryFlags(a, memoryActions[at], args[1:])
	if err != nil {
		return err
	}
	return memoryActions[at].run(ctx, m)
}

func memoryNames() string {
	var names []string
	for _, action := range memoryActions {
		names = append(names, action.name)
	}
	return strings.Join(names, ", ")
}

// memoryFlags parses the flags of an action, before or after its arguments.
func memoryFlags(a *cli.App, action memoryAction, args []string) (*memoryCall, error) {
	m := &memoryCall{app: a}
	flags := a.Flags("memory " + action.name)
	flags.StringVar(&m.room, "room", "", "room `ID`, or the beginning of a container's name")
	has := func(names ...string) bool { return slices.Contains(names, action.name) }
	if has("status", "search", "add", "forget", "import") {
		flags.BoolVar(&m.json, "json", false, "print JSON")
	}
	if has("search") {
		flags.IntVar(&m.n, "n", 5, "number of results")
		flags.StringVar(&m.query, "query", "", "what to search for, instead of an argument")
		flags.Float64Var(&m.least, "min-score", 0, "only results with at least this score")
	}
	if has("search", "add") {
		flags.StringVar(&m.scope, "scope", "room", "room: only -room; all, for search: all rooms, one after the other")
		flags.StringVar(&m.kind, "kind", "",
			"kind of the note, such as fact or preference; search: also a source such as log, transcript or import")
	}
	if has("add", "forget") {
		flags.StringVar(&m.text, "text", "", "the text, instead of an argument")
	}
	var err error
	if action.argument == "" {
		err = a.Parse(flags, args)
	} else {
		m.given, err = a.ParseAll(flags, args, action.argument)
	}
	if err != nil {
		return nil, err
	}
	if m.cfg, err = a.Config(nil); err != nil {
		return nil, err
	}
	m.dir = string(m.cfg.StateDir)
	return m, nil
}

// one returns the argument, or the value of the flag that stands for it.
func (m *memoryCall) one(action, what, flag string) (string, error) {
	text := strings.Join(m.given, " ")
	if (text == "") == (flag == "") {
		return "", &cli.UsageError{Text: fmt.Sprintf("memory %s takes one %s", action, what)}
	}
	return cmp.Or(text, flag), nil
}

// chosen returns the room of -room. An ID need not be known; anything else is the beginning of a known room's ID or
// container.
func (m *memoryCall) chosen() (string, error) {
	if m.room == "" {
		return "", &cli.UsageError{Text: "memory: -room is missing: `matrix-tui rooms` lists the rooms"}
	}
	var id settings.RoomID
	if id.UnmarshalText([]byte(m.room)) == nil && strings.Contains(m.room, ":") {
		return m.room, nil
	}
	lines, err := m.lines()
	if err != nil {
		return "", err
	}
	if line, err := rooms.ChooseRoom(lines, m.room); err == nil {
		return line.Room, nil
	} else if id.UnmarshalText([]byte(m.room)) != nil {
		return "", err
	}
	return m.room, nil // the ID of a newer room contains no server
}

// lines are the rooms that the state folder knows.
func (m *memoryCall) lines() ([]rooms.RoomLine, error) {
	store, err := state.ReadStore(m.dir)
	if err != nil {
		return nil, err
	}
	lines := rooms.JoinRooms(store, nil, false)
	indexed, err := memory.Rooms(context.Background(), m.dir)
	if err != nil {
		return nil, err
	}
	for _, room := range indexed {
		if !slices.ContainsFunc(lines, func(l rooms.RoomLine) bool { return l.Room == room }) {
			lines = append(lines, rooms.RoomLine{Room: room})
		}
	}
	return rooms.SortRooms(lines), nil
}

// rooms returns the chosen room, or all that the state folder knows.
func (m *memoryCall) rooms() (all []string, err error) {
	if m.room != "" {
		room, err := m.chosen()
		return []string{room}, err
	}
	lines, err := m.lines()
	for _, line := range lines {
		all = append(all, line.Room)
	}
	return all, err
}

// with opens the index of a room, fills one that is new, and closes it.
func (m *memoryCall) with(ctx context.Context, room string, do func(*memory.Index) error) (err error) {
	x, err := memory.Open(ctx, m.dir, room)
	if err != nil {
		return err
	}
	defer cli.Closing(&err, x.Close)
	if x.Unfilled() {
		fill := func(memories *recall.Memory, _ *state.Journal) error { return memories.Fill(ctx, x) }
		if err := m.record(ctx, fill); err != nil {
			return err
		}
	}
	return do(x)
}

// knows reports whether there is something to search in a room: a record, if the index is gone.
func (m *memoryCall) knows(room string) bool {
	_, err := os.Stat(filepath.Join(m.dir, "journal.db"))
	return err == nil || memory.Exists(m.dir, room)
}

// record opens what the rooms remember. The bot may be running.
func (m *memoryCall) record(ctx context.Context, do func(*recall.Memory, *state.Journal) error) (err error) {
	store, err := state.ReadStore(m.dir)
	if err != nil {
		return err
	}
	journal, err := state.JoinJournal(ctx, filepath.Join(m.dir, "journal.db"))
	if err != nil {
		return err
	}
	defer cli.Closing(&err, journal.Close)
	memories, err := OpenMemory(m.cfg, store, journal, zerolog.Nop())
	if err != nil {
		return err
	}
	return do(memories, journal)
}

// print prints a value as JSON.
func (m *memoryCall) print(value any) error {
	out := json.NewEncoder(m.app.Stdout)
	out.SetEscapeHTML(false)
	return out.Encode(value)
}
