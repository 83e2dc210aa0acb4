package main

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// input reads a file so that the read can be cancelled: otherwise a read from a terminal waits forever, and its
// goroutine with it.
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

// Read waits for bytes, or for Stop, after which it always returns io.EOF.
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

// Stop ends a waiting read; the file stays open.
func (in *input) Stop() { _ = in.stop.Close() }

// Close frees the pipe, after the last Read has returned.
func (in *input) Close() error { return errors.Join(ignoreClosed(in.stop.Close()), in.wake.Close()) }

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// keys returns a terminal's input one byte at a time, and therefore knows whether each byte belongs to a paste
// (bracketed paste mode).
type keys struct {
	in      io.Reader
	out     io.Writer
	waiting []byte
	last    string // the last six bytes returned
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
