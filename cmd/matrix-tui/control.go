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
	"matrix-tui/bot/update"
	"matrix-tui/deploy/release"
	"matrix-tui/state/sentence"
)

// controlName is the socket in STATE_DIR through which the command line asks the
// running bot for an update. Access to it is limited to the bot's user.
const controlName = "control.sock"

// updateRequest is what the command line sends, in one line of JSON.
type updateRequest struct {
	Ref   string `json:"ref"`
	Again bool   `json:"again"`
	Back  bool   `json:"back,omitempty"`
}

// updateReply is a line of the bot's answer.
type updateReply struct {
	Say       string `json:"say,omitempty"`
	Error     string `json:"error,omitempty"`
	Switching bool   `json:"switching,omitempty"` // the new release takes over now
}

// control serves the socket.
type control struct {
	bot     *bot.Bot
	updater *release.Updater
}

// serveControl serves callers until ctx ends.
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

// answer serves one request. If the caller goes away, the update continues.
func (c control) answer(ctx context.Context, conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	var w updateRequest
	if err := json.NewDecoder(io.LimitReader(conn, 4<<10)).Decode(&w); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	send := func(line updateReply) {
		_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
		_ = json.NewEncoder(conn).Encode(line)
	}
	_, err := c.updater.Begin(release.Order{Ref: w.Ref, Again: w.Again, Back: w.Back})
	if err == nil {
		err = c.bot.SelfUpdate(ctx, update.Order{Ref: w.Ref, Again: w.Again, Back: w.Back}, func(text string) { send(updateReply{Say: text}) })
	}
	if err != nil {
		send(updateReply{Error: saidOf(err)})
		return nil
	}
	send(updateReply{Switching: true})
	return nil
}

// saidOf is the command line's message for a failed update.
func saidOf(err error) string {
	if errors.Is(err, update.ErrNothingNew) || errors.Is(err, release.ErrNothingNew) {
		return nothingNew
	}
	text := sentence.Text(err)
	for _, line := range sentence.Lines(err) {
		text += "\n  " + line
	}
	return text
}

const nothingNew = "already up to date"

// callControl asks a running bot and prints its replies. ok is false if no bot is
// running.
func callControl(ctx context.Context, dir string, w updateRequest, out io.Writer) (ok bool, err error) {
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
		var line updateReply
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
