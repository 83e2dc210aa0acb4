package boxinit

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pump copies a stream of a command until the command has ended. After that it discards what the descendants still
// print, so that a closed pipe does not kill them.
type pump struct {
	in, out *os.File // the command's end, and ours
	to      io.Writer
	drained chan struct{}
}

func newPump(to io.Writer) (*pump, error) {
	p := &pump{to: to, drained: make(chan struct{})}
	var err error
	p.out, p.in, err = os.Pipe()
	return p, err
}

// run copies until every process has closed the stream.
func (p *pump) run() {
	defer p.out.Close()
	if _, err := io.Copy(p.to, p.out); errors.Is(err, os.ErrDeadlineExceeded) {
		// Everything the command wrote is in the pipe by now.
		_ = p.out.SetReadDeadline(time.Time{})
		_, _ = io.CopyN(p.to, p.out, p.waiting())
	}
	close(p.drained)
	_, _ = io.Copy(io.Discard, p.out)
}

// drain is called when the command has ended. It returns when everything printed before that has been copied.
func (p *pump) drain() {
	_ = p.out.SetReadDeadline(time.Now())
	<-p.drained
}

// waiting returns how many bytes are in the pipe.
func (p *pump) waiting() (n int64) {
	if raw, err := p.out.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			there, _ := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
			n = int64(there)
		})
	}
	return n
}
