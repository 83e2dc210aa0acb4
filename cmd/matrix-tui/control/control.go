// Package control is the socket through which the command line talks to the running bot.
package control

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
// running bot for an update, or in which rooms an agent waits. Access to it is limited
// to the bot's user.
const controlName = "control.sock"

// parkedRequest asks in which rooms an agent waits. It is a JSON string, which a bot that does not know it cannot take
// for an updateRequest.
const parkedRequest = "parked"

// UpdateRequest is what the command line sends for an update, in one line of JSON.
type UpdateRequest struct {
	Ref   string `json:"ref"`
	Again bool   `json:"again"`
	Back  bool   `json:"back,omitempty"`
}

// controlReply is a line of the bot's answer.
type controlReply struct {
	Say       string   `json:"say,omitempty"`
	Error     string   `json:"error,omitempty"`
	Switching bool     `json:"switching,omitempty"` // the new release takes over now
	Parked    []string `json:"parked,omitempty"`    // rooms in which an agent waits
}

// ErrNotInstalled is the answer of a program that no update can replace.
var ErrNotInstalled = errors.New("this program is not in a release folder: run BASE/current/matrix-tui (deploy/install sets one up)")

// Control serves the socket.
type Control struct {
	Bot     *bot.Bot
	Updater *release.Updater // nil if this program is not in a release folder
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
	var request json.RawMessage
	if err := json.NewDecoder(io.LimitReader(conn, 4<<10)).Decode(&request); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	send := func(line controlReply) {
		_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
		_ = json.NewEncoder(conn).Encode(line)
	}
	if string(request) == `"`+parkedRequest+`"` {
		send(controlReply{Parked: c.Bot.Parked()})
		return nil
	}
	var w UpdateRequest
	if err := json.Unmarshal(request, &w); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	if err := c.update(ctx, w, func(text string) { send(controlReply{Say: text}) }); err != nil {
		send(controlReply{Error: SaidOf(err)})
		return nil
	}
	send(controlReply{Switching: true})
	return nil
}

func (c Control) update(ctx context.Context, w UpdateRequest, say func(string)) error {
	if c.Updater == nil {
		return ErrNotInstalled
	}
	if _, err := c.Updater.Begin(release.Order{Ref: w.Ref, Again: w.Again, Back: w.Back}); err != nil {
		return err
	}
	return c.Bot.SelfUpdate(ctx, update.Order{Ref: w.Ref, Again: w.Again, Back: w.Back}, say)
}

// SaidOf is the command line's message for a failed update.
func SaidOf(err error) string {
	if errors.Is(err, update.ErrNothingNew) || errors.Is(err, release.ErrNothingNew) {
		return NothingNew
	}
	text := sentence.Text(err)
	for _, line := range sentence.Lines(err) {
		text += "\n  " + line
	}
	return text
}

const NothingNew = "already up to date"

// CallUpdate asks a running bot for an update and prints its replies. ok is false if no
// bot is running.
func CallUpdate(ctx context.Context, dir string, w UpdateRequest, out io.Writer) (ok bool, err error) {
	lines, hangUp, err := callControl(ctx, dir, w)
	if lines == nil {
		return err != nil, err
	}
	defer hangUp()
	for {
		var line controlReply
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

// CallParked asks a running bot in which rooms an agent waits. There are none if no bot
// is running.
func CallParked(ctx context.Context, dir string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	lines, hangUp, err := callControl(ctx, dir, parkedRequest)
	if lines == nil {
		return nil, err
	}
	defer hangUp()
	var line controlReply
	if err := lines.Decode(&line); err != nil {
		return nil, fmt.Errorf("ask the bot in which rooms an agent waits: %w", err)
	}
	return line.Parked, nil
}

// callControl sends a request to a running bot. The caller reads the replies and hangs
// up. If no bot is running, lines is nil.
func callControl(ctx context.Context, dir string, request any) (lines *json.Decoder, hangUp func(), err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, controlName))
	if err != nil {
		return nil, nil, nil
	}
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	hangUp = func() { unhook(); _ = conn.Close() }
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		hangUp()
		return nil, nil, fmt.Errorf("ask the bot: %w", err)
	}
	return json.NewDecoder(conn), hangUp, nil
}
