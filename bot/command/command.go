// Package command has the commands: what a message must look like to be one, who may use it, its help, and what it
// does. It never decides whether a message is for the bot.
package command

import (
	"context"
	"slices"
	"strings"
)

// Command is one !word.
type Command struct {
	Name   string
	Text   string // its argument: "" for none, in brackets if optional
	Does   string // one-line description, shown in rooms
	Brief  string // a few words for `!help`, "" for a command that only `!help all` shows
	Owners bool   // for owners only; else for everyone who may use the bot in the room
	Direct bool   // only in a direct chat
	// run returns what the sender is told, or "" if it has finished the message itself. nil: the argument is a task.
	run func(ctx context.Context, c *Call) (said string, err error)
}

// all lists all commands.
var all []Command

func init() { all = table() } // because help and usage read it

func table() []Command {
	return []Command{
		{Name: "help", run: help, Text: "[all|owner]", Does: "lists my commands: the most useful, all, or those for owners"},
		{Name: "task", Text: "TEXT", Does: "starts a task, even while I wait for an answer"},
		{Name: "answer", run: answer, Text: "TEXT", Does: "answers my open question"},
		{Name: "steer", run: steer, Text: "TEXT",
			Does: "interrupts the running task and continues it with your instructions"},
		{Name: "stop", run: stopTask, Text: "[all]", Brief: "cancels what I am doing",
			Does: "cancels the running task, or the one waiting for an answer. With `all`, it also empties the queue and ends " +
				"what earlier tasks left running, such as servers"},
		{Name: "status", run: status, Brief: "shows what I am doing",
			Does: "shows running and waiting tasks, what the room's container uses, and the room's model usage"},
		{Name: "model", run: model, Text: "[auto|pro|flash|NAME]", Brief: "shows which model I use",
			Does: "shows the model, why it was chosen and which others there are; owners set the room's"},
		{Name: "usage", run: usage, Does: "shows this room's model usage: tokens, runs, sessions and " +
			"compactions, today and in total"},
		{Name: "memory", run: memory, Text: "[search|add|forget …]", Brief: "shows what I remember",
			Does: "shows, finds, adds or forgets what I remember in this room"},
		{Name: "schedule", run: scheduled, Text: "[WHEN TEXT|1 pause …]", Brief: "shows tasks for set times",
			Does: "shows, adds, changes or removes tasks for set times: `!schedule every 2h TEXT`"},
		{Name: "page", run: page, Text: "[CODE|off]", Does: "says where my page with your rooms and tasks is. With the " +
			"CODE that your browser shows there, it tells you a number to sign in with; `off` signs out all of your browsers"},
		{Name: "compact", run: compact, Text: "[WHAT TO KEEP]",
			Does: "starts a new session from a summary of this one and the last messages"},
		{Name: "new", run: newSession, Brief: "starts a new session",
			Does: "starts a new session: the agent keeps only this room's conversation"},
		{Name: "reset", run: reset, Text: "[sandbox]", Owners: true,
			Does: "starts a new session, forgets this room's conversation and moves the agent's notes away; files and " +
				"transcript are kept. With `sandbox`, it replaces the container instead"},
		{Name: "policy", run: editPolicy, Text: "show|set|allow|block|reset …", Owners: true, Direct: true,
			Does: "shows and changes who may use me in which room, and when I answer"},
		{Name: "pair", run: pair, Text: "CODE", Owners: true, Direct: true, Does: "accepts the user with this pairing code"},
		{Name: "self_update", run: selfUpdate, Text: "[REF]", Owners: true,
			Does: "updates me to the newest release, or to the tag, branch or commit REF (`REF back` if it is older)"},
		{Name: "rooms", run: rooms, Text: "[all]", Owners: true, Direct: true,
			Does: "lists my rooms. With `all`, it shows their IDs and containers, too"},
		{Name: "alerts", run: alerts, Text: "here|off", Owners: true,
			Does: "sends alerts about the host to this room, or turns them off"},
	}
}

// IsTask reports whether the command's argument is a task.
func (c Command) IsTask() bool { return c.run == nil }

// Usage returns a sentence about how to write the command.
func (c Command) Usage() string {
	if c.Text == "" {
		return "`!" + c.Name + "` takes no argument: it " + c.Does + "."
	}
	return "`!" + c.Name + " " + c.Text + "` " + c.Does + "."
}

// Takes reports whether the command has this argument. In brackets, only what is in capitals stands for something else.
func (c Command) Takes(rest string) bool {
	words, optional := strings.CutPrefix(c.Text, "[")
	switch {
	case rest == "":
		return optional || c.Text == ""
	case !optional || strings.ToLower(words) != words || strings.Contains(words, "…"):
		return c.Text != ""
	}
	said := strings.ToLower(rest)
	if c.Name == "help" {
		said = strings.TrimSuffix(said, "s")
	}
	return slices.Contains(strings.Split(strings.TrimSuffix(words, "]"), "|"), said)
}
