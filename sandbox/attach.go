package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containers/podman/v5/pkg/api/handlers"
	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/errorhandling"

	"matrix-tui/bot/crash"
	"matrix-tui/state/retry"
)

// errLost means that the connection to a container ended before the command or the operation did.
var errLost = fmt.Errorf("the connection to the container was lost: %w", ErrUnreachable)

// Exec runs a process in a container and returns its exit code. It uses its own
// connection because the bindings' ExecStartAndAttach replaces the shared client's
// transport, leaks goroutines and ignores its context. When ctx ends, the process
// continues.
func (s *service) Exec(ctx context.Context, id string, p Process) (code int, err error) {
	config := new(handlers.ExecCreateConfig)
	config.Cmd, config.WorkingDir = p.Argv, "/"
	config.AttachStdin = p.Stdin != nil || p.Hold
	config.AttachStdout, config.AttachStderr = true, true
	session, err := containers.ExecCreate(s.with(ctx), id, config)
	if err != nil {
		return 0, err
	}
	if err := s.converse(ctx, session, p); err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return 0, err
	}
	return s.exitCode(ctx, session)
}

// converse starts the session and copies its streams until the service closes them,
// which also happens when the service goes away.
func (s *service) converse(ctx context.Context, session string, p Process) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", s.Socket())
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	answers, err := upgrade(conn, session)
	if err != nil {
		return err
	}
	var input sync.WaitGroup
	defer input.Wait()
	defer conn.Close() // before the wait: it ends a copy that blocks on writing
	if end, ok := p.Stdin.(io.Closer); ok && p.Hold {
		defer end.Close() // and one that blocks on reading
	}
	if p.Stdin != nil {
		input.Go(func() {
			_, _ = io.Copy(conn, p.Stdin)
			if !p.Hold {
				conn.(*net.UnixConn).CloseWrite()
			}
		})
	}
	return demultiplex(answers, p.Stdout, p.Stderr)
}

// upgrade asks the service to start the session on this connection.
func upgrade(conn net.Conn, session string) (*bufio.Reader, error) {
	request, err := http.NewRequest(http.MethodPost, "http://d/v4.0.0/libpod/exec/"+session+"/start",
		bytes.NewReader([]byte(`{"Detach":false,"Tty":false}`)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "tcp")
	crash.Count("podman start exec")
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	reader := bufio.NewReaderSize(conn, 64<<10)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusSwitchingProtocols || response.StatusCode == http.StatusOK {
		return reader, nil // the rest of the connection is the stream, not a body
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	model := &errorhandling.ErrorModel{Message: string(text), ResponseCode: response.StatusCode}
	_ = json.Unmarshal(text, model) // if it is not JSON, it is the message
	return nil, model
}

// maxFrame bounds the length in a frame's header; podman's frames have 32 KiB.
const maxFrame = 16 << 20

// demultiplex reads frames (stream number, three zero bytes, big-endian length, data)
// until the end of the stream.
func demultiplex(r io.Reader, stdout, stderr io.Writer) error {
	var header [8]byte
	for {
		if _, err := io.ReadFull(r, header[:]); err != nil {
			// A reset is also an end: of a command that has not read all its input.
			if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
				return nil
			}
			return err
		}
		length := int64(binary.BigEndian.Uint32(header[4:]))
		if length > maxFrame {
			return fmt.Errorf("attach: frame of %d bytes", length)
		}
		to := io.Discard
		switch header[0] {
		case 1:
			to = stdout
		case 2:
			to = stderr
		case 3:
			text, _ := io.ReadAll(io.LimitReader(r, min(length, 64<<10)))
			return &errorhandling.ErrorModel{Message: string(text)}
		}
		if to == nil {
			to = io.Discard
		}
		if n, err := io.CopyN(to, r, length); err != nil {
			if n < length && errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
}

// exitCode returns the exit code of a session whose streams are closed. If the service
// still reports the session as running, either its record is late or the service was
// restarted.
func (s *service) exitCode(ctx context.Context, session string) (int, error) {
	again := retry.New(time.Millisecond, time.Second/2)
	for range 10 { // about a second
		data, err := containers.ExecInspect(s.with(ctx), session, nil)
		if err != nil && strings.Contains(err.Error(), "no such exec session") {
			return 0, errLost // podman forgets a session some time after its end
		}
		if err != nil {
			return 0, err
		}
		if !data.Running {
			return data.ExitCode, nil
		}
		if err := again.Wait(ctx, errLost); err != nil {
			return 0, err
		}
	}
	return 0, errLost
}
