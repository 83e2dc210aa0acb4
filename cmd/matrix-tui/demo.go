package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"matrix-tui/agent/scripted"
	"matrix-tui/bot/person"
)

// joinTime is how long the bot may take to start and join the demo's room.
const joinTime = 2 * time.Minute

// demo is a bot, a person and a room with both, in one process.
type demo struct {
	app    *app
	cfg    *Config
	log    zerolog.Logger
	dir    string
	model  *scripted.Server // nil with a key of one's own
	you    *person.Person
	bot    string // user ID
	room   string
	before []person.Msg // what the room held when the demo began
	screen screen
}

func demoCommand(ctx context.Context, a *app, args []string) (err error) {
	flags := a.flags("demo")
	homeserver := flags.String("homeserver", "", "`URL` of a homeserver with open registration")
	dir := flags.String("dir", "", "`folder` for the demo's data")
	if err := a.parse(flags, args); err != nil {
		return err
	}
	d := &demo{app: a}
	if d.cfg, d.dir, err = demoConfig(a, *homeserver, *dir); err != nil {
		return err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	log, closeLog, err := demoLog(d.dir, d.cfg.LogLevel)
	if err != nil {
		return err
	}
	defer closing(&err, closeLog)
	d.log = log
	return d.play(ctx)
}

// demoConfig reads the settings that the demo does not set itself.
func demoConfig(a *app, homeserver, dir string) (*Config, string, error) {
	if homeserver == "" || dir == "" {
		return nil, "", &usageError{"demo needs -homeserver URL and -dir FOLDER (./deploy/try sets both)"}
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.dir, dir)
	}
	cfg, err := a.config(map[string]string{"MATRIX_HOMESERVER": homeserver, "STATE_DIR": filepath.Join(dir, "state")})
	if err != nil {
		return nil, "", err
	}
	cfg.AccessToken, cfg.Allow = Secret{}, nil
	cfg.Debounce = 0 // each line has its answer here
	return cfg, dir, nil
}

// demoLog opens bot.log in the demo's folder and keeps the previous one.
func demoLog(dir string, level Level) (zerolog.Logger, func() error, error) {
	path := filepath.Join(dir, "bot.log")
	_ = os.Rename(path, path+".1") // there may be none
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return zerolog.Logger{}, nil, fmt.Errorf("open the demo's log: %w", err)
	}
	return logger(file, level), file.Close, nil
}

// play sets up the room and chats until the person leaves; then the bot shuts down.
func (d *demo) play(parent context.Context) (err error) {
	known, err := loadAccounts(d.dir)
	if err != nil {
		return err
	}
	entering, cancel := context.WithTimeout(parent, time.Minute)
	defer cancel()
	if d.you, d.bot, err = known.enter(entering, string(d.cfg.Homeserver), d.log); err != nil {
		return err
	}
	defer d.you.Close()
	if d.room, err = known.room(entering, d.you, d.bot); err != nil {
		return err
	}
	d.before = d.you.Messages(d.room) // what comes from here on is shown, also what was left of the last time
	d.cfg.User, d.cfg.Password = UserName(d.bot), NewSecret(known.Bot.Password)
	d.cfg.Owners = UserIDs{d.you.ID()}

	ctx, stop := context.WithCancel(parent)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	if !d.cfg.GeminiKey.Set() {
		if err := d.serveModel(ctx, group); err != nil {
			return err
		}
	}
	fmt.Fprint(d.app.stdout, d.banner(known))
	group.Go(func() error { return serve(ctx, d.cfg, d.log, hosting{}) })
	group.Go(func() error {
		defer stop()
		return d.chat(ctx)
	})
	err = group.Wait()
	if errors.Is(err, context.Canceled) && parent.Err() != nil {
		return nil // asked to end by a signal
	}
	return err
}

// serveModel starts the scripted model and points the settings at it.
func (d *demo) serveModel(ctx context.Context, group *errgroup.Group) error {
	d.model = scripted.New(scripted.Demo(), d.log.Level(zerolog.WarnLevel))
	key := randomWord(20)
	d.model.RequireKey(key)
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
	case u := <-url:
		d.cfg.GeminiURL, d.cfg.GeminiKey = WebAddress(u), NewSecret(key)
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
	line("    homeserver  %s", d.cfg.Homeserver)
	line("    user        %s  (%s)", known.You.Name, d.you.ID())
	line("    password    %s", known.You.Password)
	line("")
	if d.model != nil {
		line("  GEMINI_API_KEY is not set, so a SCRIPTED MODEL answers, not Gemini; its replies say so.")
	} else {
		line("  The model is %s at %s.", d.cfg.GeminiModel, d.cfg.GeminiURL)
	}
	line("  Type a task and press Enter. Several pasted lines are one message. /quit or Ctrl-D exits.")
	line("  The bot's log is %s.", filepath.Join(d.dir, "bot.log"))
	line("")
	return b.String()
}

// chat waits for the bot and then runs the terminal.
func (d *demo) chat(ctx context.Context) (err error) {
	fmt.Fprintln(d.app.stdout, "  The bot is starting …")
	if err := d.joined(ctx); err != nil {
		return err
	}
	in, err := newInput(d.app.stdin)
	if err != nil {
		return fmt.Errorf("read the terminal: %w", err)
	}
	defer closing(&err, in.Close)
	if d.screen, err = newScreen(in, d.app.stdout); err != nil {
		return err
	}
	awake := context.AfterFunc(ctx, in.Stop)
	defer awake()
	label := "bot"
	if d.model != nil {
		label = "bot (scripted model)"
	}
	err = newChat(d.you, d.room, d.bot, label, d.before, d.screen).run(ctx, time.Duration(d.cfg.CodingTimeout)+time.Minute)
	err = errors.Join(err, d.screen.Close())
	fmt.Fprintln(d.app.stdout, "  The bot is stopping. A running task continues in the room's container; the next start picks it up.")
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
		return fmt.Errorf("wait for the bot to join (its log is %s): %w", filepath.Join(d.dir, "bot.log"), err)
	}
	return nil
}
