// Package tools gives the agent three tools over MCP for the schedule of its room:
//
//	schedule_create(task, cron, every, in, at, missed, gate)  adds an entry
//	schedule_list()                                           lists the entries
//	schedule_cancel(number)                                   removes one
//
// The room and the person are those of the task that runs; nothing that the agent says can change them. The room is
// told about each change, so that a file or a page that talks the agent into one is noticed.
package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"matrix-tui/bot/schedule"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/sentence"
)

// Running returns the schedule of a room for the person whose task runs in it, and the task; ok is false if none runs.
type Running func(ctx context.Context, room string) (book *schedule.Book, rec state.Task, ok bool)

// Add returns a function that adds the tools of a room to a server. changed is called after each change.
func Add(running Running, changed func(), log zerolog.Logger) func(s *mcp.Server, room string) {
	return func(s *mcp.Server, room string) {
		t := tools{running, changed, room, log}
		mcp.AddTool(s, createTool, t.create)
		mcp.AddTool(s, listTool, t.list)
		mcp.AddTool(s, cancelTool, t.cancel)
	}
}

var createTool = &mcp.Tool{
	Name: "schedule_create",
	Description: "Schedules a task: at a time or again and again, you get it as if somebody had written it here. " +
		"Use it when a person asks for something at a later time, regularly, or as soon as something is so. " +
		"Give exactly one of cron, every, in and at. The room is told what was scheduled and when it is due: do not " +
		"repeat that.",
}

var listTool = &mcp.Tool{
	Name:        "schedule_list",
	Description: "Lists what is scheduled in this room, with the number of each entry.",
	Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
}

var cancelTool = &mcp.Tool{
	Name:        "schedule_cancel",
	Description: "Removes an entry of this room's schedule. To change one, cancel it and create another.",
}

type createArguments struct {
	Task   string `json:"task" jsonschema:"what to do then, complete and clear without this conversation"`
	Cron   string `json:"cron,omitempty" jsonschema:"minute, hour, day, month, day of the week, in local time, such as 0 8 * * 1-5"`
	Every  string `json:"every,omitempty" jsonschema:"an interval, such as 2h"`
	In     string `json:"in,omitempty" jsonschema:"once, after this time, such as 20m"`
	At     string `json:"at,omitempty" jsonschema:"once, at this local time: 14:30 or 2026-12-01 14:30"`
	Missed string `json:"missed,omitempty" jsonschema:"what to do with runs that were missed while the bot was off: once (the default), skip or all"`
	Gate   string `json:"gate,omitempty" jsonschema:"a shell command: you are started only if it succeeds. For what is mostly not necessary"`
}

type cancelArguments struct {
	Number int `json:"number" jsonschema:"as schedule_list shows it"`
}

// tools are those of one room.
type tools struct {
	running Running
	changed func()
	room    string
	log     zerolog.Logger
}

func (t tools) create(ctx context.Context, _ *mcp.CallToolRequest,
	args createArguments) (*mcp.CallToolResult, any, error) {
	return t.change(ctx, args, func(book *schedule.Book, rec state.Task) (string, error) {
		if rec.Source == state.FromSchedule {
			return "", schedule.Refused("a run of the schedule cannot add entries: a person has to ask for that")
		}
		when, err := schedule.When(args.Cron, args.Every, args.In, args.At, book.Now, book.Env.Rules().Zone)
		if err != nil {
			return "", err
		}
		return book.Add(ctx, state.Entry{Text: args.Task, When: when, Missed: state.Missed(args.Missed), Gate: args.Gate})
	})
}

func (t tools) list(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	book, _, ok := t.running(ctx, t.room)
	if !ok {
		return nil, nil, errIdle
	}
	said, err := book.List(ctx)
	if err != nil {
		return nil, nil, t.failed(ctx, err)
	}
	return result(said), nil, nil
}

func (t tools) cancel(ctx context.Context, _ *mcp.CallToolRequest,
	args cancelArguments) (*mcp.CallToolResult, any, error) {
	return t.change(ctx, args, func(book *schedule.Book, _ state.Task) (string, error) {
		return book.Remove(ctx, args.Number)
	})
}

// change lets the room know about a change, and the agent that the room does. The same arguments mean the same change
// as long as one task runs: after a crash, the agent may repeat a call.
func (t tools) change(ctx context.Context, args any,
	do func(book *schedule.Book, rec state.Task) (said string, err error)) (*mcp.CallToolResult, any, error) {
	book, rec, ok := t.running(ctx, t.room)
	if !ok {
		return nil, nil, errIdle
	}
	txn := rec.Key + "-schedule-" + state.Hash(fmt.Sprintf("%T%[1]v", args))
	book.Tell = func(said string) []state.Message {
		return book.Env.Room.Render(ctx, task.Message{Message: state.Message{Room: t.room, Kind: state.KindReply,
			Task: rec.Key, Notice: true, Body: said, Txn: txn}})
	}
	said, err := do(book, rec)
	if errors.Is(err, state.ErrTwice) {
		return result("This task has scheduled that already. schedule_list shows what is scheduled."), nil, nil
	}
	if err != nil {
		return nil, nil, t.failed(ctx, err)
	}
	t.changed()
	book.Env.Room.Wake()
	return result("The room was told: " + said), nil, nil
}

var errIdle = errors.New("no task runs in this room")

// failed returns what the agent is told about an error; it logs one that is not about what the agent has said.
func (t tools) failed(ctx context.Context, err error) error {
	if refused := schedule.Refused(""); errors.As(err, &refused) {
		return refused
	}
	if ctx.Err() == nil {
		t.log.Warn().Err(err).Str("room", t.room).Msg("the agent cannot use the schedule of its room")
	}
	return errors.New(sentence.Text(err))
}

func result(said string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}
}
