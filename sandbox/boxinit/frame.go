package boxinit

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Kind is what a frame holds.
type Kind byte

// The kinds of frames. The one who asks sends a request, then input, of which an empty frame is the end. The
// container sends output and replies.
const (
	FrameRequest Kind = iota + 1
	FrameInput
	FrameStdout
	FrameStderr
	FrameReply
)

const (
	frameHeader = 5 // the kind, and the length of what follows, highest byte first
	// frameData is how much input or output is sent in one frame.
	frameData = 64 << 10
	// maxRequest bounds a request, in bytes; it holds the files of a run.
	maxRequest = 64 << 20
	// MaxFrame bounds what a container sends in one frame, in bytes.
	MaxFrame = 1 << 20
)

// Frames are the frames on a connection. Several goroutines may write.
type Frames struct {
	mu   sync.Mutex
	conn io.ReadWriter
}

// NewFrames returns the frames on a connection.
func NewFrames(conn io.ReadWriter) *Frames { return &Frames{conn: conn} }

// Write sends one frame.
func (f *Frames) Write(kind Kind, data []byte) error {
	head := make([]byte, frameHeader, frameHeader+len(data))
	head[0] = byte(kind)
	binary.BigEndian.PutUint32(head[1:], uint32(len(data)))
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.conn.Write(append(head, data...))
	return err
}

// WriteJSON sends one frame that holds JSON.
func (f *Frames) WriteJSON(kind Kind, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return f.Write(kind, data)
}

// Next reads the header of a frame. Its data must be read before the next one; it is at most that long.
func (f *Frames) Next(most int64) (Kind, io.Reader, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(f.conn, head[:]); err != nil {
		return 0, nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[1:]))
	if size > most {
		return 0, nil, fmt.Errorf("a frame of %d bytes is too long", size)
	}
	return Kind(head[0]), io.LimitReader(f.conn, size), nil
}

// ReadJSON reads JSON from the data of a frame, all of it.
func ReadJSON(data io.Reader, into any) error {
	all, err := io.ReadAll(data)
	if err != nil {
		return err
	}
	return json.Unmarshal(all, into)
}

// Stream returns a writer whose data is sent in frames of a kind.
func (f *Frames) Stream(kind Kind) io.Writer { return frameWriter{f, kind} }

type frameWriter struct {
	frames *Frames
	kind   Kind
}

// Write sends b.
func (w frameWriter) Write(b []byte) (int, error) {
	for sent := 0; sent < len(b); {
		n := min(len(b)-sent, frameData)
		if err := w.frames.Write(w.kind, b[sent:sent+n]); err != nil {
			return sent, err
		}
		sent += n
	}
	return len(b), nil
}

// Send sends input, and its end. Nil is empty. It returns an error of the reader only.
func (f *Frames) Send(from io.Reader) error {
	buffer := make([]byte, frameData)
	for from != nil {
		n, err := from.Read(buffer)
		if n > 0 && f.Write(FrameInput, buffer[:n]) != nil {
			return nil // nobody wants more
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	_ = f.Write(FrameInput, nil)
	return nil
}

// input reads the data of input frames up to the empty one. A connection that breaks is no end.
type input struct {
	frames *Frames
	data   io.Reader
	ended  bool
}

var errNoInput = errors.New("a frame is no input")

// Read returns io.EOF after the empty frame.
func (r *input) Read(b []byte) (int, error) {
	for !r.ended {
		if r.data != nil {
			if n, err := r.data.Read(b); n > 0 || !errors.Is(err, io.EOF) {
				return n, err
			}
		}
		kind, data, err := r.frames.Next(frameData)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		if kind != FrameInput {
			return 0, errNoInput
		}
		r.data, r.ended = data, data.(*io.LimitedReader).N == 0
	}
	return 0, io.EOF
}
