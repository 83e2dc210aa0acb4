// Package element is a Matrix client for one person, on the engine of Element: matrix-js-sdk, with its cryptography in
// WebAssembly. It shows what the bot looks like to most people; package person shares mautrix with the bot, and might
// share its errors. The client itself is in deploy/clients/js. It stores nothing on disk.
package element

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"matrix-tui/bot/bottest/host"
)

// Event is an event of a room as the client shows it: decrypted, and with its newest edit.
type Event struct {
	Room      string          `json:"room"`
	ID        string          `json:"id"`
	Sender    string          `json:"sender"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Encrypted bool            `json:"encrypted"` // on the homeserver
	Failure   string          `json:"failure"`   // why it cannot be decrypted
}

// Client is a running client. Its methods are safe for concurrent use.
type Client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{} // closed when its output has ended

	mu      sync.Mutex
	last    int                  // request
	answers map[int]chan message // by request
	events  []*Event             // in the order of their arrival
	changed chan struct{}        // closed and replaced at each change of events
}

// message is a line of the client: an answer or an event.
type message struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
	Event  *Event          `json:"event"`
}

// Missing says what this host lacks, "" for nothing.
func Missing() string {
	if _, err := os.Stat(filepath.Join(folder(), "stamp")); err != nil {
		return fmt.Sprintf("no matrix-js-sdk in %q: deploy/clients/js/build installs it", folder())
	}
	return ""
}

// folder is where the packages and node are.
func folder() string { return host.Cached("MATRIX_TUI_CLIENTS_JS", "clients-js") }

// Launch starts the client in dir, an existing folder that gets its log. Source is the folder with client.mjs.
func Launch(dir, source string) (*Client, error) {
	main := filepath.Join(dir, "client.mjs") // node looks for packages beside the program
	if err := errors.Join(os.CopyFS(dir, os.DirFS(source)), os.Symlink(filepath.Join(folder(), "node_modules"),
		filepath.Join(dir, "node_modules"))); err != nil {
		return nil, fmt.Errorf("install client: %w", err)
	}
	log, err := os.Create(filepath.Join(dir, "client.log"))
	if err != nil {
		return nil, fmt.Errorf("open log of the client: %w", err)
	}
	defer log.Close()
	c := &Client{
		cmd:     exec.Command(filepath.Join(folder(), "node", "bin", "node"), main),
		done:    make(chan struct{}),
		answers: map[int]chan message{},
		changed: make(chan struct{}),
	}
	c.cmd.Stderr = log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	go c.read(out)
	return c, nil
}

// read takes what the client prints until it ends.
func (c *Client) read(out io.Reader) {
	defer close(c.done)
	lines := json.NewDecoder(bufio.NewReader(out))
	for {
		var m message
		if lines.Decode(&m) != nil {
			return
		}
		c.mu.Lock()
		if m.Event != nil {
			c.take(m.Event)
		} else if answer := c.answers[m.ID]; answer != nil {
			answer <- m
		}
		c.mu.Unlock()
	}
}

// take adds an event or replaces it; c.mu is held.
func (c *Client) take(event *Event) {
	known := false
	for i, old := range c.events {
		if old.ID == event.ID {
			c.events[i], known = event, true
		}
	}
	if !known {
		c.events = append(c.events, event)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Do makes the client do something; args may hold what its verb needs, and result, if it is not nil, gets the answer.
func (c *Client) Do(ctx context.Context, verb string, args map[string]any, result any) error {
	c.mu.Lock()
	c.last++
	request := map[string]any{"id": c.last, "do": verb}
	for key, value := range args {
		request[key] = value
	}
	answer := make(chan message, 1)
	c.answers[c.last] = answer
	err := json.NewEncoder(c.in).Encode(request)
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("tell the client to %s: %w", verb, err)
	}
	select {
	case m := <-answer:
		if m.Error != "" {
			return fmt.Errorf("the client cannot %s: %s", verb, m.Error)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-c.done:
		return fmt.Errorf("the client has ended, and does not %s", verb)
	case <-ctx.Done():
		return fmt.Errorf("the client does not %s: %w", verb, ctx.Err())
	}
}

// Wait returns the first event that fits.
func (c *Client) Wait(ctx context.Context, fits func(Event) bool) (Event, error) {
	for {
		c.mu.Lock()
		changed := c.changed
		for _, event := range c.events {
			if fits(*event) {
				c.mu.Unlock()
				return *event, nil
			}
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-c.done:
			return Event{}, errors.New("the client has ended")
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Newest returns the last event that fits.
func (c *Client) Newest(fits func(Event) bool) (Event, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.events) - 1; i >= 0; i-- {
		if fits(*c.events[i]) {
			return *c.events[i], true
		}
	}
	return Event{}, false
}

// Close ends the client.
func (c *Client) Close() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	<-c.done
	_ = c.cmd.Wait()
}
