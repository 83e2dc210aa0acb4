package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"matrix-tui/bot/bottest/person"
	"matrix-tui/state/clean"
)

// chat is one room in a terminal: what is typed is said by a person, what
// others say is shown.
type chat struct {
	me     *person.Person
	room   string
	bot    string // its user ID
	label  string // what it is called on the screen
	screen screen

	mu   sync.Mutex      // held while a message is sent, so that its answer finds it
	mine map[string]bool // events sent from here that no answer has come to
	seen map[string]bool // events that were shown, or were there before
	calm chan struct{}   // gets a value whenever something was shown
}

func newChat(me *person.Person, room, bot, label string, before []person.Msg, s screen) *chat {
	c := &chat{
		me: me, room: room, bot: bot, label: label, screen: s,
		mine: map[string]bool{}, seen: map[string]bool{}, calm: make(chan struct{}, 1),
	}
	// Messages after the person's own last one are shown again: they may be unread.
	last := len(before)
	for i, m := range before {
		if m.Sender == me.ID() {
			last = i + 1
		}
	}
	for _, m := range before[:last] {
		c.seen[m.Event] = true
	}
	return c
}

// run sends and shows until the person leaves. At the end of an input that is
// no terminal it first waits for the answers that are outstanding, at most for
// timeout.
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

// errQuit is a person who left by /quit.
var errQuit = errors.New("quit")

// talk sends what is typed until its end. errQuit is not passed on, but it
// forgets the outstanding answers.
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
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	event, err := c.me.Say(ctx, c.room, text)
	if err == nil {
		c.mine[event] = true
	}
	return err
}

// watch shows what comes, until ctx ends.
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

// maxSeen is more than a person's client holds of a room.
const maxSeen = 20_000

// see notes that an event was shown. Now and then it forgets those that the
// client has forgotten too.
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
	c.seen[event] = true
}

// take shows one event and strikes the task that it answers off the list.
func (c *chat) take(m person.Msg) {
	c.mu.Lock()
	own := c.mine[m.Event] // it comes back before its answer does
	if m.Final() && m.Sender == c.bot {
		delete(c.mine, m.ReplyTo)
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

// progress tells whether m is the bot's notice about a task, or an edit of it.
func (c *chat) progress(m person.Msg) (id, line string) {
	if m.Sender != c.bot || m.Kind != "m.notice" || m.ReplyTo == "" && m.EditOf == "" {
		return "", ""
	}
	id = m.EditOf
	if id == "" {
		id = m.Event
	}
	return id, c.label + ": " + clean.Short(m.Body, 400)
}

// text is how an event reads in the chat, "" for what need not be shown.
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

// outstanding counts the messages that no answer has come to yet.
func (c *chat) outstanding() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mine)
}

// await returns once every message has its answer and nothing more comes: an
// answer may have several parts, and the last word on its progress comes last.
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
