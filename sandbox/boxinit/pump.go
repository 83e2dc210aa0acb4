package boxinit

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// pump copies a command's two streams until the command has ended. After that it discards what the descendants still
// print, so that a closed pipe does not kill them.
type pump struct {
	outIn, errIn int // the command's ends
	out, err     int // our ends
	wake, woken  int // a pipe: closed by drain
	toOut, toErr io.Writer
	drained      chan struct{}
}

func newPump(toOut, toErr io.Writer) (*pump, error) {
	p := &pump{toOut: toOut, toErr: toErr, drained: make(chan struct{})}
	for _, ends := range []struct{ read, write *int }{{&p.out, &p.outIn}, {&p.err, &p.errIn}, {&p.woken, &p.wake}} {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			return nil, err
		}
		if err := unix.SetNonblock(fds[0], true); err != nil {
			return nil, err
		}
		*ends.read, *ends.write = fds[0], fds[1]
	}
	return p, nil
}

func (p *pump) closeInputs() {
	unix.Close(p.outIn)
	unix.Close(p.errIn)
}

// drain is called when the command has ended. It returns when everything printed before that has been copied.
func (p *pump) drain() {
	unix.Close(p.wake)
	<-p.drained
}

// run copies until every process has closed both streams.
func (p *pump) run() {
	defer func() {
		select {
		case <-p.drained:
		default:
			<-p.ended() // streams closed early; the command continues
		}
	}()
	fds := []unix.PollFd{
		{Fd: int32(p.out), Events: unix.POLLIN},
		{Fd: int32(p.err), Events: unix.POLLIN},
		{Fd: int32(p.woken), Events: unix.POLLIN},
	}
	buf := make([]byte, 64<<10)
	for fds[0].Fd >= 0 || fds[1].Fd >= 0 {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
		if fds[2].Revents != 0 {
			// Everything the command wrote is in the pipes by now: at most what they hold.
			p.take(&fds[0], buf, p.toOut, pipeSize(p.out))
			p.take(&fds[1], buf, p.toErr, pipeSize(p.err))
			fds[2].Fd, fds[2].Revents = -1, 0
			p.toOut, p.toErr = io.Discard, io.Discard
			close(p.drained)
			continue
		}
		if fds[0].Revents != 0 {
			p.take(&fds[0], buf, p.toOut, 1)
		}
		if fds[1].Revents != 0 {
			p.take(&fds[1], buf, p.toErr, 1)
		}
	}
}

// take copies at least n bytes, or what is there. At the end of the stream it removes the descriptor from the poll.
func (p *pump) take(fd *unix.PollFd, buf []byte, to io.Writer, n int) {
	for n > 0 && fd.Fd >= 0 {
		m, err := unix.Read(int(fd.Fd), buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return
		case err != nil || m == 0:
			unix.Close(int(fd.Fd))
			fd.Fd, fd.Revents = -1, 0
			return
		}
		_, _ = to.Write(buf[:m])
		n -= m
	}
}

// ended waits for drain when there is nothing left to copy.
func (p *pump) ended() <-chan struct{} {
	fds := []unix.PollFd{{Fd: int32(p.woken), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err == nil || !errors.Is(err, unix.EINTR) {
			break
		}
	}
	close(p.drained)
	return p.drained
}

func pipeSize(fd int) int {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return 1 << 20
	}
	return n
}
