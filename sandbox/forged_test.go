package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox/boxinit"
)

// forger is a container whose connection a process has offered that answers in boxinit's place: to a ping as it should,
// and to everything else as answer does.
func forger(t *testing.T, answer func(send func(kind byte, data []byte) error, r boxinit.Request)) *Container {
	t.Helper()
	c := &Container{ID: "forged", Name: "forged", Room: "!forged:example.org", podman: &Podman{log: zerolog.Nop()}, strength: "{}"}
	ours, theirs := net.Pipe()
	t.Cleanup(func() { theirs.Close() })
	t.Cleanup(c.podman.lines.close)
	go func() {
		send := func(kind byte, data []byte) error {
			head := [boxinit.FrameHeader]byte{kind}
			binary.BigEndian.PutUint32(head[1:], uint32(len(data)))
			_, err := theirs.Write(append(head[:], data...))
			return err
		}
		for in := json.NewDecoder(theirs); ; {
			var r boxinit.Request
			if in.Decode(&r) != nil {
				return
			}
			if r.Run == nil && r.Exec == nil {
				_ = send(1, []byte("{}\n"))
				continue
			}
			answer(send, r)
		}
	}()
	c.podman.Offer(c.Room, ours, "")
	return c
}

func inJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// A forged reply and a forged status are no longer than true ones.
func TestForgedLength(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	reply := inJSON(t, boxinit.Reply{Stdout: []byte(long), Stderr: []byte(long)})
	status := RunStatus{State: RunExited, Stderr: long, Signal: long}
	for range 50 {
		status.Watch = append(status.Watch, Watched{Path: "/workspace/status.md", Tail: long[:8<<10]})
	}
	end := inJSON(t, boxinit.Ended{Status: status})
	c := forger(t, func(send func(byte, []byte) error, r boxinit.Request) {
		if r.Exec != nil {
			_ = send(1, reply)
			return
		}
		_ = send(1, []byte("{}\n"))
		_ = send(2, end)
	})
	result, err := c.Exec(t.Context(), Cmd{Argv: []string{"cat"}, MaxOutput: 4 << 10})
	if err != nil || len(result.Stdout) != 4<<10 || len(result.Stderr) != 4<<10 || !result.Truncated {
		t.Errorf("%d and %d bytes, truncated %v, %v", len(result.Stdout), len(result.Stderr), result.Truncated, err)
	}
	got, err := c.Run(t.Context(), RunSpec{ID: "r", Argv: []string{"true"}}, io.Discard, func(bool) {})
	if err != nil || got.State != RunExited || !strings.HasSuffix(long, got.Stderr) {
		t.Errorf("%.100s, %v", inJSON(t, got), err)
	}
	size := len(got.Stderr)
	for _, w := range got.Watch {
		size = max(size, len(w.Tail))
	}
	if size > 4<<10 || len(inJSON(t, got)) > 100<<10 {
		t.Errorf("parts of up to %d bytes, %d bytes in all", size, len(inJSON(t, got)))
	}
}

// A line on which no status comes is given up at the first thing that is none, however much comes afterwards.
func TestForgedStatus(t *testing.T) {
	broken := append(bytes.Repeat([]byte(" "), maxStatus-20), []byte(`{"Status":{}]`+"\n")...)
	for name, said := range map[string][]byte{"broken": broken, "endless": bytes.Repeat([]byte("x"), 2*maxStatus)} {
		c := forger(t, func(send func(byte, []byte) error, _ boxinit.Request) {
			_ = send(1, []byte("{}\n"))
			_ = send(2, said)
			for send(2, []byte("\n")) == nil {
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		out := &answered{id: "r", begun: func(bool) {}, counting: counting{to: io.Discard}}
		_, err := c.runOnLine(ctx, RunSpec{ID: "r", Argv: []string{"true"}}, out)
		if err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v, %v", name, err, ctx.Err())
		}
		cancel()
	}
}
