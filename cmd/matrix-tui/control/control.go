// Package control is the socket through which the command line talks to the running bot.
package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot"
	"matrix-tui/bot/update"
	"matrix-tui/deploy/release"
	"matrix-tui/state/sentence"
)

// controlName is the socket in STATE_DIR through which the command line asks the
// running bot for an update. Access to it is limited to the bot's user.
const controlName = "control.sock"

// request is what the command line asks for: an update, or whether the bot is stuck.
type request struct {
	update.Order
	Alive bool `json:",omitempty"`
}

// controlReply is a line of the bot's answer.
type controlReply struct {
	Say       string `json:"say,omitempty"`
	Error     string `json:"error,omitempty"`
	Switching bool   `json:"switching,omitempty"` // the new release takes over now
	Nothing   bool   `json:"nothing,omitempty"`   // there is nothing new
	Alive     bool   `json:"alive,omitempty"`     // the bot is not stuck
}

// ErrNotInstalled is the answer of a program that no update can replace.
var ErrNotInstalled = errors.New("this program is not in a release folder: run BASE/current/matrix-tui " +
	"(deploy/install sets one up)")

// Control serves the socket.
type Control struct {
	Bot     *bot.Bot
	Updater *release.Updater // nil if this program is not in a release folder
	Alive   func(context.Context) error
}

// ServeControl serves callers until ctx ends.
func ServeControl(ctx context.Context, dir string, c Control, log zerolog.Logger) error {
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

// answer serves one request. If the caller goes away, the update continues.
func (c Control) answer(ctx context.Context, conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	var asked request
	if err := json.NewDecoder(io.LimitReader(conn, 4<<10)).Decode(&asked); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	send := func(line controlReply) {
		_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
		_ = json.NewEncoder(conn).Encode(line)
	}
	if asked.Alive {
		if err := c.Alive(ctx); err != nil {
			send(controlReply{Error: SaidOf(err)})
		} else {
			send(controlReply{Alive: true})
		}
		return nil
	}
	err, o := ErrNotInstalled, asked.Order
	if c.Updater != nil {
		_, err = c.Updater.Begin(o)
	}
	if err == nil {
		err = c.Bot.SelfUpdate(ctx, o, func(text string) { send(controlReply{Say: text}) })
	}
	switch {
	case err == nil:
		send(controlReply{Switching: true})
	case errors.Is(err, update.ErrNothingNew):
		send(controlReply{Nothing: true})
	default:
		send(controlReply{Error: SaidOf(err)})
	}
	return nil
}

// CallUpdate asks a running bot for an update and prints its replies. ok is false if no
// bot is running.
func CallUpdate(ctx context.Context, dir string, o update.Order, out io.Writer) (ok bool, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, controlName))
	if err != nil {
		return false, nil
	}
	defer conn.Close()
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unhook()
	if err := json.NewEncoder(conn).Encode(o); err != nil {
		return true, fmt.Errorf("ask the bot: %w", err)
	}
	for lines := json.NewDecoder(conn); ; {
		var line controlReply
		if err := lines.Decode(&line); err != nil {
			return true, fmt.Errorf("lost the connection to the bot: %w", err)
		}
		switch {
		case line.Error != "":
			return true, errors.New(line.Error)
		case line.Nothing:
			return true, update.ErrNothingNew
		case line.Switching:
			return true, nil
		}
		fmt.Fprintln(out, line.Say)
	}
}

// aliveTime is how long the bot may take to say that it is not stuck: its own check takes ten seconds at most.
const aliveTime = 14 * time.Second

// CallAlive asks a running bot whether it is stuck. It is an error if none answers.
func CallAlive(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, controlName))
	if err != nil {
		return fmt.Errorf("reach the bot: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := json.NewEncoder(conn).Encode(request{Alive: true}); err != nil {
		return fmt.Errorf("ask the bot: %w", err)
	}
	var line controlReply
	if err := json.NewDecoder(conn).Decode(&line); err != nil {
		return fmt.Errorf("the bot does not answer: %w", cmp.Or(ctx.Err(), err))
	}
	if !line.Alive {
		return fmt.Errorf("the bot is stuck: %s", line.Error)
	}
	return nil
}

// SaidOf is the command line's message for a failed update.
func SaidOf(err error) string {
	return strings.Join(append([]string{sentence.Text(err)}, sentence.Lines(err)...), "\n  ")
}
