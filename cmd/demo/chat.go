package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	"matrix-tui/bot/bottest/person"
	"matrix-tui/state/clean"
)

// chat is one room in a terminal: typed lines are sent as a person, other people's messages are shown.
type chat struct {
	me     *person.Person
	room   string
	bot    string // its user ID
	label  string // what it is called on the screen
	screen screen

	mu       sync.Mutex      // locked while a message is sent, so that its answer finds it
	mine     map[string]bool // sent events without an answer
	commands map[string]bool // sent events; true for a command, whose answer is shown in full
	seen     map[string]bool // events that were shown, or existed before
	last     string          // the newest of them
	calm     chan struct{}   // receives a value whenever something was shown
}

// newChat continues a chat, of which the terminal has shown the event seen.
func newChat(me *person.Person, room, bot, label, seen string, before []person.Msg, s screen) *chat {
	return &chat{
		me: me, room: room, bot: bot, label: label, screen: s,
		mine: map[string]bool{}, commands: map[string]bool{}, seen: known(me.ID(), seen, before), last: seen,
		calm: make(chan struct{}, 1),
	}
}

// known returns the events that are not shown again: those up to the event seen, or to the person's own last message.
// What came since may be unread, but its notices say nothing any more.
func known(me, seen string, before []person.Msg) map[string]bool {
	read, out := len(before), map[string]bool{}
	for i, m := range before {
		if m.Sender == me || m.Event == seen {
			read = i + 1
		}
	}
	for i, m := range before {
		if i < read || m.Kind == "m.notice" {
			out[m.Event] = true
		}
	}
	return out
}

// run sends and shows until the person leaves. At the end of input that is not a terminal it first waits for the
// missing answers, at most for timeout.
func (c *chat) run(ctx context.Context, timeout time.Duration) error {
	watching, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.watch(watching) }()
	err := c.talk(ctx)
	if err == nil && !c.screen.Interactive() {
		err = c.await(ctx, timeout)
	}
	stop()
	return errors.Join(err, <-done)
}

const help = `Whatever you type is a message to the bot: a task, an answer to its question, or more about what it is working on.
  !stop   cancels the running task
  !help   shows the bot's other commands
  /quit   ends this chat and stops the bot, as Ctrl-D does; the next ./deploy/try continues here`

// errQuit means that the person left with /quit.
var errQuit = errors.New("quit")

// talk sends typed lines until the end. errQuit is not passed on, but drops the missing answers.
func (c *chat) talk(ctx context.Context) error {
	for {
		text, err := c.screen.ReadMessage()
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		switch err := c.say(ctx, strings.TrimRight(text, "\r\n\t ")); {
		case errors.Is(err, errQuit):
			return nil
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.screen.Show("(not sent: " + err.Error() + ")")
		}
	}
}

func (c *chat) say(ctx context.Context, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text == "/quit" {
		clear(c.mine)
		return errQuit
	}
	if text == "" {
		return nil
	}
	if text == "/help" {
		c.screen.Show(help)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	event, err := c.me.Say(ctx, c.room, text)
	if err == nil {
		c.mine[event] = true
		c.commands[event] = strings.HasPrefix(text, "!")
	}
	return err
}

// watch shows new events until ctx ends.
func (c *chat) watch(ctx context.Context) error {
	for {
		m, err := c.me.Wait(ctx, c.room, func(m person.Msg) bool { return !c.seen[m.Event] })
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		c.see(m.Event)
		c.take(m)
	}
}

// maxSeen is more than a person's client keeps of a room.
const maxSeen = 20_000

// see records that an event was shown, and from time to time drops those that the client has dropped too.
func (c *chat) see(event string) {
	if len(c.seen) >= maxSeen {
		old := c.seen
		c.seen = map[string]bool{}
		for _, m := range c.me.Messages(c.room) {
			if old[m.Event] {
				c.seen[m.Event] = true
			}
		}
	}
	c.seen[event], c.last = true, event
}

// take shows one event and removes the task that it answers from the list.
func (c *chat) take(m person.Msg) {
	c.mu.Lock()
	_, own := c.commands[m.Event]
	if m.Final() && m.Sender == c.bot {
		maps.DeleteFunc(c.mine, func(event string, _ bool) bool { return m.Answers(event) })
	}
	c.mu.Unlock()
	if own {
		return
	}
	if id, line := c.progress(m); id != "" {
		c.screen.Progress(id, line)
	} else if text := c.text(m); text != "" {
		c.screen.Show(text)
	}
	select {
	case c.calm <- struct{}{}:
	default:
	}
}

// progress recognises the bot's notice about a task, or an edit of it.
func (c *chat) progress(m person.Msg) (id, line string) {
	if m.Sender != c.bot || m.Kind != "m.notice" || m.ReplyTo == "" && m.EditOf == "" && !m.Progress() {
		return "", ""
	}
	c.mu.Lock()
	command := c.commands[m.ReplyTo]
	c.mu.Unlock()
	if id = m.EditOf; id == "" && command {
		return "", ""
	}
	if id == "" {
		id = m.Event
	}
	return id, c.label + ": " + clean.Short(m.Body, 400)
}

// text formats an event for the chat, "" if there is nothing to show.
func (c *chat) text(m person.Msg) string {
	who := c.label
	if m.Sender != c.bot {
		who, _, _ = strings.Cut(strings.TrimPrefix(m.Sender, "@"), ":")
	}
	switch {
	case m.Type != "m.room.message" || m.Redacted:
		return ""
	case m.URL != "":
		return clean.Text(fmt.Sprintf("%s: [%s] %s", who, strings.TrimPrefix(m.Kind, "m."), m.Body))
	case m.EditOf != "":
		return clean.Text(fmt.Sprintf("%s (changed): %s", who, m.Body))
	}
	return clean.Text(who + ": " + m.Body)
}

// outstanding counts the sent messages without an answer.
func (c *chat) outstanding() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mine)
}

// await returns once every message has its answer and nothing more arrives: an answer may have several parts, and the
// last edit of its progress comes last.
func (c *chat) await(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	const quiet = time.Second
	still := time.NewTimer(quiet)
	defer still.Stop()
	for {
		select {
		case <-ctx.Done():
			if n := c.outstanding(); n > 0 {
				return fmt.Errorf("%d answers are outstanding: %w", n, ctx.Err())
			}
			return ctx.Err()
		case <-c.calm:
		case <-still.C:
			if c.outstanding() == 0 {
				return nil
			}
		}
		still.Reset(quiet)
	}
}
