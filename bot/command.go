package bot

import (
	"context"
	"slices"
	"strings"

	"matrix-tui/state"
)

// command is one !word. Who may use the bot in a room may use all of them.
type command struct {
	name string
	text string // what follows the word: "" for a command that takes nothing
	does string // one line for people
	// run does it; the row is the message. It ends the row itself. nil is a
	// command that is a task with its text.
	run func(r *room, ctx context.Context, row state.Inbound, text string) error
}

// commands is every command there is.
var commands []command

func init() {
	commands = []command{ // not above: a command's work leads back to the table
		{"task", "TEXT", "gives me work, even while I wait for an answer", nil},
		{"answer", "TEXT", "answers the question that I wait for", (*room).doAnswer},
		{"stop", "", "ends the running task, or gives up the one that waits for an answer", (*room).doStop},
	}
}

// parseCommand reads a message as a command and what follows it. Words that
// are no command of ours are ordinary text.
func parseCommand(text string) (c command, rest string, ok bool) {
	text = strings.TrimSpace(text)
	word, found := strings.CutPrefix(text, "!")
	if !found {
		return c, "", false
	}
	if end := strings.IndexAny(word, " \t\r\n"); end >= 0 {
		word, rest = word[:end], strings.TrimSpace(word[end:])
	}
	i := slices.IndexFunc(commands, func(c command) bool { return strings.EqualFold(c.name, word) })
	if i < 0 {
		return c, "", false
	}
	return commands[i], rest, true
}

// usage says how a command is written.
func (c command) usage() string {
	if c.text == "" {
		return "`!" + c.name + "` stands alone: it " + c.does + "."
	}
	return "`!" + c.name + " " + c.text + "` " + c.does + "."
}

// doCommand does a row that is a command, or says how it is written.
func (r *room) doCommand(ctx context.Context, row state.Inbound) error {
	e, _ := parseEvent(row.Raw)
	m, _ := e.message()
	c, rest, _ := parseCommand(taskText(m))
	if (rest == "") != (c.text == "") || c.run == nil {
		return r.tell(ctx, row, c.usage())
	}
	return c.run(r, ctx, row, rest)
}

// toldTxn ends the transaction ID of what tell says.
const toldTxn = "-a"

// tell answers a row with a notice and ends the row.
func (r *room) tell(ctx context.Context, row state.Inbound, text string) error {
	n := notice(text)
	n.RelatesTo = replyTo(row.Event)
	return r.reply(ctx, []state.Outbound{r.out(taskKey(row)+toldTxn, "", n)}, row.Event)
}

// reply queues messages and ends rows, at once.
func (r *room) reply(ctx context.Context, out []state.Outbound, rows ...string) error {
	if err := r.bot.Journal.Reply(ctx, r.id, out, rows...); err != nil {
		return err
	}
	r.outbox.wake()
	return nil
}
