package relay

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// lineBuffer is what each direction of a line holds, in bytes. An idle one holds it, too.
const lineBuffer = 8 << 10

// line is a connection to the bot's door. Copying to and from it takes little memory.
type line struct{ *tls.Conn }

// ReadFrom is for [io.Copy].
func (l line) ReadFrom(from io.Reader) (int64, error) {
	return io.CopyBuffer(patient{l.Conn}, struct{ io.Reader }{from}, make([]byte, lineBuffer))
}

// WriteTo is for [io.Copy].
func (l line) WriteTo(to io.Writer) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{l.Conn}, make([]byte, lineBuffer))
}

// patient waits as long for the bot to read on as for a bot that is away.
type patient struct{ conn *tls.Conn }

func (p patient) Write(data []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(time.Now().Add(holdLimit)); err != nil {
		return 0, err
	}
	return p.conn.Write(data)
}

// readToken reads the pod's token, which the kubelet replaces from time to time.
func readToken(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the pod's token: %w", err)
	}
	defer file.Close()
	token, err := io.ReadAll(io.LimitReader(file, MaxToken+1))
	if err != nil {
		return nil, fmt.Errorf("read the pod's token: %w", err)
	}
	token = bytes.TrimSpace(token)
	if len(token) == 0 || len(token) >= MaxToken || bytes.ContainsAny(token, "\r\n") {
		return nil, errors.New("the pod's token is not one line, or too long")
	}
	return token, nil
}
