package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"matrix-tui/agent/agenttest"
	"matrix-tui/bot/bottest/person"
)

// joinTime is how long the bot may take to start and join the demo's room.
const joinTime = 2 * time.Minute

// demo is a bot, a person and a room with both, in one process.
type demo struct {
	program, homeserver, dir string
	environ                  []string
	stdin                    *os.File
	stdout                   io.Writer

	model              *agenttest.Server // nil with a key of one's own
	modelURL, modelKey string
	you                *person.Person
	bot                string // user ID
	room               string
	before             []person.Msg // what the room held when the demo began
	screen             screen
}

// play sets up the room and chats until the person leaves; then the bot shuts down.
func (d *demo) play(parent context.Context) (err error) {
	if d.dir, err = filepath.Abs(d.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("create the demo's folder: %w", err)
	}
	file, err := d.openLog()
	if err != nil {
		return err
	}
	defer closing(&err, file.Close)
	log := zerolog.New(file).Level(zerolog.WarnLevel).With().Timestamp().Logger()
	known, err := loadAccounts(d.dir)
	if err != nil {
		return err
	}
	entering, cancel := context.WithTimeout(parent, time.Minute)
	defer cancel()
	if d.you, d.bot, err = known.enter(entering, d.homeserver, log); err != nil {
		return err
	}
	defer d.you.Close()
	if d.room, err = known.room(entering, d.you, d.bot); err != nil {
		return err
	}
	if known.Page, err = pagePort(entering, known.Page); err != nil {
		return err
	}
	d.before = d.you.Messages(d.room) // show everything from here on, including what was left from last time

	ctx, stop := context.WithCancel(parent)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	if !d.hasKey() {
		if err := d.serveModel(ctx, group, log); err != nil {
			return err
		}
	} else if err := d.checkModel(ctx); err != nil {
		return err
	}
	fmt.Fprint(d.stdout, d.banner(known))
	group.Go(func() error { return d.serve(ctx, known, file) })
	group.Go(func() error {
		defer stop()
		return d.chat(ctx, known)
	})
	err = group.Wait()
	if errors.Is(err, context.Canceled) && parent.Err() != nil {
		return nil // ended by a signal
	}
	return err
}

// serveModel starts the scripted model and points the settings at it.
func (d *demo) serveModel(ctx context.Context, group *errgroup.Group, log zerolog.Logger) error {
	d.model, d.modelKey = agenttest.New(agenttest.Demo(), log), randomWord(20)
	d.model.RequireKey(d.modelKey)
	url := make(chan string, 1)
	failed := make(chan error, 1)
	group.Go(func() error {
		err := d.model.Serve(ctx, "127.0.0.1:0", func(u string) { url <- u })
		failed <- err
		return err
	})
	select {
	case err := <-failed:
		return errors.Join(err, group.Wait())
	case d.modelURL = <-url:
		return nil
	}
}

// banner explains how to join with another client.
func (d *demo) banner(known *accounts) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("")
	line("  This terminal is a room with the bot. Element, or any other client, can join in:")
	line("")
	line("    homeserver    %s", d.homeserver)
	line("    user          %s  (%s)", known.You.Name, d.you.ID())
	line("    password      %s", known.You.Password)
	line("    recovery key  %s", known.You.Recovery)
	line("    the bot       %s", d.bot)
	line("")
	if d.model != nil {
		line("  GEMINI_API_KEY is not set, so a SCRIPTED MODEL answers, not Gemini; its replies say so.")
	} else {
		line("  Gemini answers, with your API key.")
	}
	line("  Type a task and press Enter. Several pasted lines are one message. /help explains more, /quit or Ctrl-D exits.")
	line("  The bot's log is %s.", d.logPath())
	line("")
	return b.String()
}

// chat waits for the bot and then runs the terminal.
func (d *demo) chat(ctx context.Context, known *accounts) (err error) {
	fmt.Fprintln(d.stdout, "  The bot is starting …")
	if err := d.joined(ctx); err != nil {
		return err
	}
	d.introducePage(ctx, known.Page)
	in, err := newInput(d.stdin)
	if err != nil {
		return fmt.Errorf("read the terminal: %w", err)
	}
	defer closing(&err, in.Close)
	if d.screen, err = newScreen(in, d.stdout); err != nil {
		return err
	}
	awake := context.AfterFunc(ctx, in.Stop)
	defer awake()
	label := "bot"
	if d.model != nil {
		label = "bot (scripted model)"
	}
	c := newChat(d.you, d.room, d.bot, label, known.Seen, d.before, d.screen)
	err = c.run(ctx, d.timeout())
	known.Seen = c.last
	err = errors.Join(err, d.screen.Close(), known.save())
	fmt.Fprintln(d.stdout, "  The bot is stopping, and the rooms' containers with it. A task that is running begins "+
		"again at the next start.")
	return err
}

// joined waits until the bot is in the room.
func (d *demo) joined(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	members, err := d.you.Members(ctx, d.room)
	if err != nil {
		return err
	}
	if slices.Contains(members, d.bot) {
		return nil
	}
	_, err = d.you.Wait(ctx, d.room, func(m person.Msg) bool {
		return m.Type == "m.room.member" && m.Member == d.bot && m.Membership == "join"
	})
	if err != nil {
		return fmt.Errorf("wait for the bot to join (its log is %s): %w", d.logPath(), err)
	}
	return nil
}

// closing adds what goes wrong in a close to the error of the function that
// defers it.
func closing(err *error, close func() error) {
	*err = errors.Join(*err, close())
}
