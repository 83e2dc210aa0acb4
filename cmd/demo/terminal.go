package main

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// isTerminal tells whether a person sits at the other end.
func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// input reads a file so that the reading can be ended from outside: a read
// from a terminal waits for ever otherwise, and its goroutine with it.
type input struct {
	file       *os.File
	wake, stop *os.File // the two ends of a pipe; closing stop wakes a read
}

func newInput(file *os.File) (*input, error) {
	wake, stop, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &input{file, wake, stop}, nil
}

// Read waits for bytes, or for Stop, which makes it and all later ones io.EOF.
func (in *input) Read(p []byte) (int, error) {
	fds := []unix.PollFd{{Fd: int32(in.file.Fd()), Events: unix.POLLIN}, {Fd: int32(in.wake.Fd()), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return 0, os.NewSyscallError("poll", err)
		}
		if fds[1].Revents != 0 {
			return 0, io.EOF
		}
		return in.file.Read(p)
	}
}

// Stop ends a read that waits; the file stays open.
func (in *input) Stop() { _ = in.stop.Close() }

// Close frees the pipe, after the last Read has returned.
func (in *input) Close() error { return errors.Join(ignoreClosed(in.stop.Close()), in.wake.Close()) }

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// keys hands out what a terminal sends one byte at a time, and so knows at each
// moment whether the byte belongs to a paste (bracketed paste mode).
type keys struct {
	in      io.Reader
	out     io.Writer
	waiting []byte
	last    string // the last six bytes handed out
	pasting bool
}

const pasteBegins, pasteEnds = "\x1b[200~", "\x1b[201~"

func (k *keys) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(k.waiting) == 0 {
		buf := make([]byte, 4096)
		n, err := k.in.Read(buf)
		if n == 0 {
			return 0, err
		}
		k.waiting = buf[:n]
	}
	p[0] = k.waiting[0]
	k.waiting = k.waiting[1:]
	k.last += string(p[:1])
	k.last = k.last[max(0, len(k.last)-len(pasteBegins)):]
	switch k.last {
	case pasteBegins:
		k.pasting = true
	case pasteEnds:
		k.pasting = false
	}
	return 1, nil
}

func (k *keys) Write(p []byte) (int, error) { return k.out.Write(p) }
