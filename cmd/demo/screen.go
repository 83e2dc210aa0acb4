package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"matrix-tui/state/clean"
)

// screen is where the chat is typed and shown.
type screen interface {
	// ReadMessage returns the next message, io.EOF at the end.
	ReadMessage() (string, error)
	// Show prints text, in whole lines.
	Show(text string)
	// Progress prints a line that replaces the previous one with the same id, if the screen supports that.
	Progress(id, line string)
	// Interactive reports whether a person types and reads along.
	Interactive() bool
	// Close restores the terminal.
	Close() error
}

// newScreen uses the terminal if both ends are one, lines otherwise.
func newScreen(in *input, out io.Writer) (screen, error) {
	if f, ok := out.(*os.File); ok && isTerminal(f) && isTerminal(in.file) {
		return newTTY(in, f)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	return &plain{lines: lines, out: out}, nil
}

// plain is a pipe or a file: each line is a message, each progress a line.
type plain struct {
	lines *bufio.Scanner
	mu    sync.Mutex
	out   io.Writer
}

func (p *plain) ReadMessage() (string, error) {
	if p.lines.Scan() {
		text := p.lines.Text()
		if strings.TrimSpace(text) != "" {
			p.Show("you: " + text)
		}
		return text, nil
	}
	if err := p.lines.Err(); err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	return "", io.EOF
}

func (p *plain) Show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, text)
}

func (p *plain) Progress(_, line string) { p.Show(line) }
func (p *plain) Interactive() bool       { return false }
func (p *plain) Close() error            { return nil }

// tty is a terminal with a line editor: output does not disturb what is being typed, and a paste of several lines is
// one message.
type tty struct {
	file  *os.File
	keys  *keys
	term  *term.Terminal
	state *term.State

	mu   sync.Mutex
	live string // id of the progress line, if that is the last line shown
}

func newTTY(in *input, out *os.File) (*tty, error) {
	state, err := term.MakeRaw(int(in.file.Fd()))
	if err != nil {
		return nil, fmt.Errorf("set up the terminal: %w", err)
	}
	k := &keys{in: in, out: out}
	t := &tty{file: in.file, keys: k, term: term.NewTerminal(k, "> "), state: state}
	t.fit()
	t.term.SetBracketedPasteMode(true)
	return t, nil
}

// fit adopts the size of the window and returns its width.
func (t *tty) fit() int {
	width, height, err := term.GetSize(int(t.file.Fd()))
	if err != nil || width < 20 {
		width, height = 80, 24
	}
	_ = t.term.SetSize(width, height) // writes to the terminal only
	return width
}

// ReadMessage reads until Enter. An Enter inside a paste belongs to the text.
func (t *tty) ReadMessage() (string, error) {
	var message strings.Builder
	defer t.term.SetPrompt("> ")
	for {
		t.fit()
		line, err := t.term.ReadLine()
		t.mu.Lock()
		t.live = ""
		t.mu.Unlock()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return "", err
		}
		message.WriteString(line)
		if !t.keys.pasting {
			return message.String(), nil
		}
		message.WriteByte('\n')
		t.term.SetPrompt("… ")
	}
}

func (t *tty) Show(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live = ""
	_, _ = io.WriteString(t.term, text+"\n")
}

func (t *tty) Progress(id, line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line = clean.Short(line, t.fit()-2) // of two rows only one could be replaced
	if t.live == id {
		line = "\x1b[1A\r\x1b[2K" + line
	}
	t.live = id
	_, _ = io.WriteString(t.term, line+"\n")
}

func (t *tty) Interactive() bool { return true }

func (t *tty) Close() error {
	t.term.SetBracketedPasteMode(false)
	_, _ = io.WriteString(t.file, "\r\n")
	return term.Restore(int(t.file.Fd()), t.state)
}
