package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"
)

// typing plays a terminal's input and returns the resulting messages.
func typing(t *testing.T, sent string) []string {
	t.Helper()
	k := &keys{in: strings.NewReader(sent), out: io.Discard}
	screen := &tty{file: os.Stdin, keys: k, term: term.NewTerminal(k, "> ")}
	var messages []string
	for {
		message, err := screen.ReadMessage()
		if errors.Is(err, io.EOF) {
			return messages
		}
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, message)
	}
}

func TestTypingAndPasting(t *testing.T) {
	for name, tt := range map[string]struct {
		sent string
		want []string
	}{
		"typed":                     {"one\rtwo\r", []string{"one", "two"}},
		"backspace":                 {"onx\x7fe\r", []string{"one"}},
		"ctrl-D ends":               {"one\r\x04two\r", []string{"one"}},
		"ctrl-C ends":               {"one\rtw\x03o\r", []string{"one"}},
		"paste of one line":         {pasteBegins + "one" + pasteEnds + "\r", []string{"one"}},
		"paste of several":          {pasteBegins + "one\rtwo" + pasteEnds + "\r", []string{"one\ntwo"}},
		"paste with line end":       {pasteBegins + "one\rtwo\r" + pasteEnds + "\r", []string{"one\ntwo\n"}},
		"typed before and behind":   {"see: " + pasteBegins + "one\rtwo" + pasteEnds + " ok?\r", []string{"see: one\ntwo ok?"}},
		"two pastes":                {pasteBegins + "a\rb" + pasteEnds + pasteBegins + "c\rd" + pasteEnds + "\rnext\r", []string{"a\nbc\nd", "next"}},
		"ctrl-D in a paste is text": {pasteBegins + "a\rb" + pasteEnds + "\r\x04", []string{"a\nb"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := typing(t, tt.sent); strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("messages = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestProgressIsReplacedInPlace(t *testing.T) {
	var out bytes.Buffer
	k := &keys{in: strings.NewReader(""), out: &out}
	screen := &tty{file: os.Stdin, keys: k, term: term.NewTerminal(k, "> ")}
	screen.Progress("a", "step 1")
	screen.Progress("a", "step 2")
	screen.Show("an answer\nof two lines")
	screen.Progress("a", "done")
	screen.Progress("b", "other")
	want := "step 1\r\n\x1b[1A\r\x1b[2Kstep 2\r\nan answer\r\nof two lines\r\ndone\r\nother\r\n"
	if got := out.String(); got != want {
		t.Errorf("shown\n%q, want\n%q", got, want)
	}
}

func TestInputIsStopped(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	in, err := newInput(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if n, err := in.Read(buf); n != 1 || err != nil {
		t.Fatalf("Read = %d, %v", n, err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := in.Read(buf) // there is no input: this waits
		ended <- err
	}()
	in.Stop()
	select {
	case err := <-ended:
		if !errors.Is(err, io.EOF) {
			t.Errorf("stopped Read: %v, want io.EOF", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("Stop did not end a Read that waits")
	}
	if err := in.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
