package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/container"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/schedule"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

const den = "!den:x"

type m map[string]any

// room renders messages as they are. It implements only what is used.
type room struct{ task.Room }

func (room) Render(_ context.Context, out ...task.Message) (rows []state.Message) {
	for _, one := range out {
		rows = append(rows, one.Message)
	}
	return rows
}

func (room) Wake() {}

// desk is a room whose task is rec, and a client of its tools.
type desk struct {
	journal *state.Journal
	dir     string
	rec     *state.Task
	changes int
	session *mcp.ClientSession
}

func open(t *testing.T) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), rec: &state.Task{Key: "key", Event: "$1", Requester: "@alice:x", Source: state.FromRoom}}
	journal, store, err := state.Open(t.Context(), d.dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	d.journal = journal
	env := &task.Env{Deps: &task.Deps{Shared: container.Shared{Journal: journal,
		Policy: policy.Open(d.dir, zerolog.Nop())}}, ID: den, Room: room{}}
	env.Sandbox = container.New(&env.Shared, den)
	running := func(context.Context, string) (*schedule.Book, state.Task, bool) {
		if d.rec == nil {
			return nil, state.Task{}, false
		}
		return &schedule.Book{Env: env, User: d.rec.Requester, Event: d.rec.Event,
			Now: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC), Barred: schedule.Barred(env.Rules().Schedule, false)}, *d.rec, true
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "room", Version: "1"}, nil)
	Add(running, func() { d.changes++ }, zerolog.Nop())(server, den)
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	if d.session, err = client.Connect(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	return d
}

// call calls a tool, and checks whether it fails and how its result begins.
func (d *desk) call(t *testing.T, tool string, args m, fails bool, want string) {
	t.Helper()
	res, err := d.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	said := ""
	for _, part := range res.Content {
		if text, ok := part.(*mcp.TextContent); ok {
			said += text.Text
		}
	}
	if res.IsError != fails || !strings.HasPrefix(said, want) {
		t.Errorf("%s %v: failed %v, said %q, not %q", tool, args, res.IsError, said, want)
	}
}

func TestScheduleTools(t *testing.T) {
	d := open(t)
	d.call(t, "schedule_list", nil, false, "Nothing is scheduled here.")
	build := m{"task": "check the build", "cron": "0 8 * * 1-5", "gate": "test -e new"}
	const told = "The room was told: 🗓 #1: check the build.\nNext: Mon 30 Nov 08:00, Tue 1 Dec 08:00, Wed 2 Dec 08:00 (UTC)."
	d.call(t, "schedule_create", build, false, told)
	d.call(t, "schedule_create", build, false, "This task has scheduled that already.") // after a crash
	d.call(t, "schedule_list", nil, false, "Scheduled here:\n- #1: `0 8 * * 1-5`: check the build. Next: Mon 30 Nov 08:00 (UTC).")
	for want, args := range map[string]m{
		"give exactly one of":    {"task": "x", "cron": "0 8 * * *", "in": "2h"},
		"say what I am to do":    {"task": " ", "in": "2h"},
		"that is too often":      {"task": "x", "every": "1m"},
		"the task is too long":   {"task": strings.Repeat("x", 5000), "in": "2h"},
		"\"never\" is no rule":   {"task": "x", "in": "2h", "missed": "never"},
		"\"0 8 * *\" is not a":   {"task": "x", "cron": "0 8 * *"},
		"\"tomorrow\" is not a ": {"task": "x", "at": "tomorrow"},
	} {
		d.call(t, "schedule_create", args, true, want)
	}
	d.call(t, "schedule_cancel", m{"number": 7}, true, "there is no #7 here")
	d.call(t, "schedule_cancel", m{"number": 1}, false, "The room was told: 🗓 #1 is removed: check the build.")
	if out, err := d.journal.Messages.Unsent(t.Context(), den); err != nil || len(out) != 2 || d.changes != 2 {
		t.Errorf("the room was told %d times, the clock %d times: %v", len(out), d.changes, err)
	}
	// Also if the entry has run and is gone, the same call adds no other one.
	d.call(t, "schedule_create", build, false, "This task has scheduled that already.")

	// A run adds nothing.
	d.rec.Source = state.FromSchedule
	d.call(t, "schedule_create", m{"task": "more", "in": "2h"}, true, "a run of the schedule cannot add entries")

	// Who may.
	d.rec.Source = state.FromRoom
	if err := os.WriteFile(filepath.Join(d.dir, "policy.yaml"), []byte("defaults: {schedule: owners}"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.call(t, "schedule_create", m{"task": "more", "in": "3h"}, true, "only owners may change")
	d.rec = nil
	for tool, args := range map[string]m{"schedule_list": nil, "schedule_create": {"task": "x", "in": "2h"},
		"schedule_cancel": {"number": 1}} {
		d.call(t, tool, args, true, "no task runs in this room")
	}
}

// A room has its limit.
func TestScheduleIsLimited(t *testing.T) {
	d := open(t)
	for i := range schedule.MaxEntries {
		d.call(t, "schedule_create", m{"task": strings.Repeat("x", i+1), "in": "2h"}, false, "The room was told: ")
	}
	d.call(t, "schedule_create", m{"task": "one more", "in": "2h"}, true, "this room has 50 entries")
}
