package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/cmd/matrix-tui/release"
)

// controlName is the socket in STATE_DIR by which the command line asks the bot
// that runs for an update. Who may open it may read the state folder.
const controlName = "control.sock"

// wish is what the command line sends, in one line of JSON.
type wish struct {
	Ref   string `json:"ref"`
	Again bool   `json:"again"`
}

// word is a line of the bot's answer.
type word struct {
	Say       string `json:"say,omitempty"`
	Error     string `json:"error,omitempty"`
	Switching bool   `json:"switching,omitempty"` // the new release takes over now
}

// control is what answers on the socket.
type control struct {
	bot     *bot.Bot
	updater *release.Updater
}

// serveControl answers one caller at a time, until ctx ends.
func serveControl(ctx context.Context, dir string, c control, log zerolog.Logger) error {
	path := filepath.Join(dir, controlName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // the lock of the folder is ours
		return fmt.Errorf("remove an old socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("restrict access to %s: %w", path, err), listener.Close())
	}
	unhook := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer unhook()
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept on %s: %w", path, err)
		}
		calls.Go(func() {
			defer conn.Close()
			if err := c.answer(ctx, conn); err != nil && ctx.Err() == nil {
				log.Warn().Err(err).Msg("could not answer the command line")
			}
		})
	}
}

// answer does one wish. The caller may go away: what has begun goes on.
func (c control) answer(ctx context.Context, conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	var w wish
	if err := json.NewDecoder(io.LimitReader(conn, 4<<10)).Decode(&w); err != nil {
		return fmt.Errorf("read wish: %w", err)
	}
	send := func(line word) {
		_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
		_ = json.NewEncoder(conn).Encode(line)
	}
	_, err := c.updater.Begin(release.Order{Ref: w.Ref, Again: w.Again})
	if err == nil {
		err = c.bot.SelfUpdate(ctx, bot.UpdateOrder{Ref: w.Ref, Again: w.Again}, func(text string) { send(word{Say: text}) })
	}
	if err != nil {
		send(word{Error: saidOf(err)})
		return nil
	}
	send(word{Switching: true})
	return nil
}

// saidOf is what the command line says of an update that did not take place.
func saidOf(err error) string {
	if errors.Is(err, bot.ErrNothingNew) || errors.Is(err, release.ErrNothingNew) {
		return nothingNew
	}
	text := sentence(err)
	var more interface {
		error
		Lines() []string
	}
	if errors.As(err, &more) {
		for _, line := range more.Lines() {
			text += "\n  " + line
		}
	}
	return text
}

const nothingNew = "already up to date"

// callControl asks a bot that runs, and prints what it says. ok is false when
// none does.
func callControl(ctx context.Context, dir string, w wish, out io.Writer) (ok bool, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, controlName))
	if err != nil {
		return false, nil
	}
	defer conn.Close()
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unhook()
	if err := json.NewEncoder(conn).Encode(w); err != nil {
		return true, fmt.Errorf("ask the bot: %w", err)
	}
	for lines := json.NewDecoder(conn); ; {
		var line word
		if err := lines.Decode(&line); err != nil {
			return true, fmt.Errorf("lost the connection to the bot: %w", err)
		}
		switch {
		case line.Error != "":
			return true, errors.New(line.Error)
		case line.Switching:
			return true, nil
		}
		fmt.Fprintln(out, line.Say)
	}
}
