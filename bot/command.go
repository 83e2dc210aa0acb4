package bot

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/bot/update"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// command is one !word.
type command struct {
	name   string
	text   string // its argument: "" for none, in brackets if optional
	does   string // one-line description, shown in rooms
	brief  string // a few words for `!help`, "" for a command that only `!help all` shows
	owners bool   // for owners only; else for everyone who may use the bot in the room
	direct bool   // only in a direct chat
	// run handles the message in row and finishes the row. nil: the argument is a
	// task.
	run func(r *room, ctx context.Context, row state.Event, text string) error
}

// commands lists all commands.
var commands []command

func init() {
	commands = []command{ // in init, because the handlers refer to the table
		{name: "help", text: "[all|owner]", does: "lists my commands: the most useful, all, or those for owners", run: (*room).doHelp},
		{name: "task", text: "TEXT", does: "starts a task, even while I wait for an answer"},
		{name: "answer", text: "TEXT", does: "answers my open question", run: (*room).doAnswer},
		{name: "steer", text: "TEXT", does: "interrupts the running task and continues it with your instructions", run: (*room).doSteer},
		{name: "stop", text: "[all]", does: "cancels the running task, or the one waiting for an answer. With `all`, it also empties the queue and ends what earlier tasks left running, such as servers", brief: "cancels what I am doing", run: (*room).doStop},
		{name: "status", does: "shows running and waiting tasks, what the room's container uses, and what the room has used of the model", brief: "shows what I am doing", run: (*room).doStatus},
		{name: "model", text: "[auto|pro|flash|NAME]", does: "shows the model, why it was chosen and which others there are; owners set the room's", brief: "shows which model I use", run: (*room).doModel},
		{name: "usage", does: "shows what this room has used of the model: tokens, runs, sessions and compactions, today and in total", run: (*room).doUsage},
		{name: "memory", text: "[search|add|forget …]", does: "shows what I remember in this room, finds, adds or forgets something", brief: "shows what I remember", run: (*room).doMemory},
		{name: "compact", text: "[WHAT TO KEEP]", does: "starts a new session from a summary of this one and the last messages", run: (*room).doCompact},
		{name: "new", does: "starts a new session: the agent keeps only this room's conversation", brief: "starts a new session", run: (*room).doNew},
		{name: "reset", text: "[sandbox]", does: "starts a new session, forgets this room's conversation and puts the agent's notes aside; files and transcript are kept. With `sandbox`, it replaces the container instead", owners: true, run: (*room).doReset},
		{name: "policy", text: "show|set|allow|block|reset …", does: "shows and changes who may talk to me in which room, and when I answer", owners: true, direct: true, run: (*room).doPolicy},
		{name: "pair", text: "CODE", does: "accepts the user with this pairing code", owners: true, direct: true, run: (*room).doPair},
		{name: "self_update", text: "[REF]", does: "updates me to the newest release, or to the tag, branch or commit REF (`REF back` if it is older)", owners: true, run: (*room).doSelfUpdate},
		{name: "rooms", text: "[all]", does: "lists my rooms. With `all`, it shows their IDs and containers, too", owners: true, direct: true, run: (*room).doRooms},
		{name: "alerts", text: "here|off", does: "sends alerts about the host to this room, or turns them off", owners: true, run: (*room).doAlerts},
	}
}

// parseCommand splits a message into a command and its argument. ok is false for
// ordinary text, which includes unknown !words.
func parseCommand(text string) (c command, rest string, ok bool) {
	word, rest, ok := commandWord(text)
	if !ok {
		return c, "", false
	}
	i := slices.IndexFunc(commands, func(c command) bool { return strings.EqualFold(c.name, word) })
	if i < 0 {
		return c, "", false
	}
	return commands[i], rest, true
}

// commandWord returns the word after a leading ! and the rest of the message.
func commandWord(text string) (word, rest string, ok bool) {
	word, ok = strings.CutPrefix(strings.TrimFunc(text, event.IsBlank), "!")
	if end := strings.IndexFunc(word, event.IsBlank); end >= 0 {
		word, rest = word[:end], strings.TrimSpace(strings.TrimLeftFunc(word[end:], event.IsBlank))
	}
	return word, rest, ok && word != ""
}

// misspelt returns the command that an unknown !word most likely means, or "" if
// the message is ordinary text.
func misspelt(said string) string {
	word, _, ok := commandWord(said)
	if _, _, known := parseCommand(said); !ok || known {
		return ""
	}
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	return text.Nearest(strings.ToLower(word), names)
}

// noCommand returns the word of a message that looks like a command but is none, and that is not like one of ours: letters
// directly after the !. Anything else, such as "!!!", "! important" or "!important: …", is ordinary text.
func noCommand(said string) string {
	word, _, ok := commandWord(said)
	notInName := func(c rune) bool { return !unicode.IsLetter(c) && c != '_' && c != '-' }
	if _, _, known := parseCommand(said); !ok || known || strings.ContainsFunc(word, notInName) || misspelt(said) != "" {
		return ""
	}
	return word
}

// isUnknown reports whether a message is meant as a command but is none.
func isUnknown(said string) bool { return misspelt(said) != "" || noCommand(said) != "" }

// usage returns a sentence about how to write the command.
func (c command) usage() string {
	if c.text == "" {
		return "`!" + c.name + "` takes no argument: it " + c.does + "."
	}
	return "`!" + c.name + " " + c.text + "` " + c.does + "."
}

// doCommand runs a command, or explains its syntax, or says that the sender may
// not use it or not in this room.
func (r *room) doCommand(ctx context.Context, row state.Event) error {
	m, _ := row.Message()
	text := m.Words()
	c, rest, known := parseCommand(text)
	if c.owners && r.bot.isOwner(row.Sender) {
		if said, err := r.unproven(ctx, row.Event, policy.ProofOwners); err != nil {
			return err
		} else if said != "" {
			return r.tell(ctx, row, said)
		}
	}
	switch {
	case update.Wanted(text):
		return r.doPlainUpdate(ctx, row)
	case !known:
		return r.tell(ctx, row, notKnown(text))
	case c.owners && !r.bot.isOwner(row.Sender):
		return r.tell(ctx, row, "`!"+c.name+"` is for my owners.")
	case c.direct && !r.bot.isDirect(r.id):
		return r.tell(ctx, row, "`!"+c.name+"` works in a direct chat with me.")
	case !c.takes(rest) || c.run == nil:
		return r.tell(ctx, row, c.usage())
	}
	return c.run(r, ctx, row, rest)
}

// notKnown returns what the room is told about an unknown command. Nothing is done, and no tokens are spent.
func notKnown(said string) string {
	if word := noCommand(said); word != "" {
		return text.Code("!"+word) + " is not one of my commands: `!help` lists them. If it is a task, send it without the `!`, or with `!task` before it."
	}
	return "Did you mean `!" + misspelt(said) + "`? If it is a task, send it without the `!`."
}

// takes reports whether the command has this argument. In brackets, only what is in capitals stands for something else.
func (c command) takes(rest string) bool {
	words, optional := strings.CutPrefix(c.text, "[")
	switch {
	case rest == "":
		return optional || c.text == ""
	case !optional || strings.ToLower(words) != words || strings.Contains(words, "…"):
		return c.text != ""
	}
	said := strings.ToLower(rest)
	if c.name == "help" {
		said = strings.TrimSuffix(said, "s")
	}
	return slices.Contains(strings.Split(strings.TrimSuffix(words, "]"), "|"), said)
}

// doHelp lists commands that the sender may use.
func (r *room) doHelp(ctx context.Context, row state.Event, which string) error {
	which = strings.TrimSuffix(strings.ToLower(which), "s")
	owner := r.bot.isOwner(row.Sender)
	switch {
	case which == "owner" && !owner:
		return r.tell(ctx, row, "Those commands are for my owners.")
	case which == "owner" || which == "all":
		return r.tell(ctx, row, helpList(which))
	}
	more := "`!help all` lists the others."
	if owner {
		more = "`!help all` lists the others, `!help owner` those for owners."
	}
	return r.tell(ctx, row, r.address(r.bot.mayBeAlone(r.id))+"\n\n"+helpList("")+"\n\n"+more)
}

// helpList lists everybody's commands ("all"), those for owners ("owner"), or the most useful ones.
func helpList(which string) string {
	var lines []string
	for _, c := range commands {
		does := c.does
		if c.direct {
			does += " (in a direct chat)"
		}
		switch {
		case which == "" && c.brief != "":
			lines = append(lines, "- `!"+c.name+"` "+c.brief)
		case which == "all" && !c.owners, which == "owner" && c.owners:
			lines = append(lines, "- `"+strings.TrimSpace("!"+c.name+" "+c.text)+"` "+does)
		}
	}
	return strings.Join(lines, "\n")
}

// tell answers a row with a notice and finishes the row.
func (r *room) tell(ctx context.Context, row state.Event, text string) error {
	return r.reply(ctx, []state.Message{r.answer(row, state.KindReply, toldTxn(row), text)}, row.ID)
}

// toldTxn returns the transaction ID of the notice that tell sends for a row.
func toldTxn(row state.Event) string { return task.KeyOf(row.Room, row.ID) + "-a" }

// reply queues messages and finishes rows in one transaction.
func (r *room) reply(ctx context.Context, out []state.Message, rows ...string) error {
	if err := r.bot.Journal.Messages.Reply(ctx, r.id, out, rows...); err != nil {
		return err
	}
	r.outbox.Wake()
	return nil
}

// description returns the command in the form that clients can offer.
func (c command) description() matrix.Command {
	return matrix.Command{Name: c.name, Does: c.does, Text: strings.ToLower(c.text)}
}

// describe publishes the commands in the room's state. It is optional, so a
// room that does not permit it is only logged.
func (r *room) describe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	direct := r.bot.isDirect(r.id)
	for _, c := range commands {
		if c.direct && !direct {
			continue
		}
		if err := r.bot.account.Describe(ctx, r.id, c.description()); err != nil {
			r.bot.log.Debug().Err(err).Str("room", r.id).Msg("cannot publish the commands")
			return
		}
	}
}
