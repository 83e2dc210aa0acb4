package boxinit

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asked is an operation whose answer is being read.
type asked struct {
	t      *testing.T
	conn   net.Conn
	frames *Frames
	out    bytes.Buffer
	err    bytes.Buffer
}

// request asks for an operation in this process.
func request(t *testing.T, s store, r Request) *asked {
	t.Helper()
	return requestOf(t, &Program{Dir: s.dir, Self: []string{"/proc/self/exe"}}, r)
}

func requestOf(t *testing.T, p *Program, r Request) *asked {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	go func() {
		defer theirs.Close()
		if err := p.operate(theirs, func(bool) {}); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", r.Op, err)
		}
	}()
	one := []byte{7}
	if _, err := ours.Write(one); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(ours, one); err != nil || one[0] != 7 {
		t.Fatalf("%v, %v", one, err)
	}
	a := &asked{t: t, conn: ours, frames: NewFrames(ours)}
	if err := a.frames.WriteJSON(FrameRequest, r); err != nil {
		t.Fatal(err)
	}
	return a
}

// reply reads up to the next reply.
func (a *asked) reply() Reply {
	a.t.Helper()
	for {
		kind, data, err := a.frames.Next(MaxFrame)
		if err != nil {
			a.t.Fatal(err)
		}
		switch kind {
		case FrameStdout:
			_, err = a.out.ReadFrom(data)
		case FrameStderr:
			_, err = a.err.ReadFrom(data)
		default:
			var r Reply
			if err := ReadJSON(data, &r); err != nil || kind != FrameReply {
				a.t.Fatalf("kind %d, %v", kind, err)
			}
			return r
		}
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

// ask carries out an operation to its end.
func ask(t *testing.T, s store, r Request, input string) (string, Reply) {
	t.Helper()
	a := request(t, s, r)
	go a.frames.Send(strings.NewReader(input))
	reply := a.reply()
	return a.out.String(), reply
}

func TestExecute(t *testing.T) {
	s := testStore(t)
	for _, c := range []struct {
		command     Command
		input       string
		want        Reply
		out, errors string
	}{
		{Command{Argv: []string{"sh", "-c", `echo "$X" in "$PWD"; echo no >&2; exit 3`}, Env: []string{"X=x"}, Dir: "/"}, "", Reply{Code: 3}, "x in /\n", "no\n"},
		{Command{Argv: []string{"sh", "-c", "kill -9 $$"}}, "", Reply{Code: 128 + int(syscall.SIGKILL)}, "", ""},
		{Command{Argv: []string{"cat"}}, "", Reply{}, "", ""},
		{Command{Argv: []string{"cat"}}, "a\x00b\r\n", Reply{}, "a\x00b\r\n", ""},
		{Command{Argv: []string{"true"}}, strings.Repeat("unread", 1<<20), Reply{}, "", ""},
		{Command{Argv: []string{"echo", "12345"}, MaxOutput: 3}, "", Reply{Truncated: true}, "123", ""},
		{Command{}, "", Reply{Error: "no command"}, "", ""},
	} {
		if c.command.MaxOutput == 0 {
			c.command.MaxOutput = 100
		}
		a := request(t, s, Request{Op: OpExec, Command: &c.command})
		go a.frames.Send(strings.NewReader(c.input))
		if got := a.reply(); got.Code != c.want.Code || got.Truncated != c.want.Truncated || got.Error != c.want.Error || a.out.String() != c.out || a.err.String() != c.errors {
			t.Errorf("%q: %+v, %q, %q", c.command.Argv, got, a.out.String(), a.err.String())
		}
	}
	if _, missing := ask(t, s, Request{Op: OpExec, Command: &Command{Argv: []string{"no-such-program"}}}, ""); !strings.Contains(missing.Error, "no-such-program") {
		t.Errorf("a program that does not exist: %+v", missing)
	}
	// A process that a command leaves behind keeps nobody waiting.
	pid, left := ask(t, s, Request{Op: OpExec, Command: &Command{Argv: []string{"sh", "-c", "sleep 60 & echo $!"}, MaxOutput: 100}}, "")
	if left.Error != "" || pid == "" {
		t.Errorf("a command that leaves a process behind: %+v", left)
	}
	exec.Command("kill", strings.TrimSpace(pid)).Run()
}

// A command's output is cut a while after its end if the caller does not read on, unless all of it counts.
func TestWholeOutput(t *testing.T) {
	const size = 50_000 // so much fits into the pipe that the command ends at once
	for _, whole := range []bool{true, false} {
		a := request(t, testStore(t), Request{Op: OpExec, Command: &Command{Argv: []string{"head", "-c", strconv.Itoa(size), "/dev/zero"}, MaxOutput: math.MaxInt64, Whole: whole}})
		go a.frames.Send(nil)
		time.Sleep(straggling + straggling/2)
		if reply := a.reply(); reply.Failed() || reply.Code != 0 || (a.out.Len() == size) != whole {
			t.Errorf("whole %v: %+v, %d bytes", whole, reply, a.out.Len())
		}
	}
}

func TestOperations(t *testing.T) {
	s := testStore(t)
	file := filepath.Join(s.dir, "file")
	for _, c := range []struct {
		r     Request
		input string
		out   string
		want  string // in the error
	}{
		{Request{Op: OpLeft}, "", "", ""},
		{Request{Op: "nonsense"}, "", "", "unknown operation"},
		{Request{Op: OpRun}, "", "", "unknown operation"},
		{Request{Op: OpRun, Run: &RunSpec{}}, "", "", "run ID"},
		{Request{Op: OpStatus, ID: "a/b"}, "", "", "run ID"},
		{Request{Op: OpStop, ID: "unknown"}, "", "", ""},
		{Request{Op: OpRemove, ID: "unknown"}, "", "", ""},
		{Request{Op: OpWrite, Path: file, Size: 9}, "short", "", "5 of 9 bytes arrived"},
		{Request{Op: OpRead, Path: file, Size: 9}, "", "", "no such file"},
		{Request{Op: OpWrite, Path: file, Size: 5}, "right", "", ""},
		{Request{Op: OpRead, Path: file, Size: 3}, "", "rig", ""},
	} {
		out, got := ask(t, s, c.r, c.input)
		if out != c.out || !strings.Contains(got.Error, c.want) || (got.Error == "") != (c.want == "") || got.Missing != strings.Contains(c.want, "no such") {
			t.Errorf("%+v: %q, %+v", c.r, out, got)
		}
	}
}

// A connection that breaks is not the end of a file.
func TestBrokenInput(t *testing.T) {
	s := testStore(t)
	path := filepath.Join(s.dir, "file")
	a := request(t, s, Request{Op: OpWrite, Path: path, Size: 5})
	if err := a.frames.Write(FrameInput, []byte("right")[:4]); err != nil {
		t.Fatal(err)
	}
	a.conn.Close()
	time.Sleep(50 * time.Millisecond)
	if _, err := os.Lstat(path); err == nil {
		t.Error("it was written")
	}
}

// Who follows a run and goes away keeps no follower, and the run goes on.
func TestFollowerGoes(t *testing.T) {
	s := testStore(t)
	a := request(t, s, Request{Op: OpRun, Follow: true, Run: &RunSpec{ID: "r", Dir: "/", Argv: []string{"sh", "-c", "echo out; exec sleep 1000"}}})
	if r := a.reply(); r.Failed() || r.Existed {
		t.Fatalf("%+v", r)
	}
	gone := make(chan struct{})
	close(gone)
	var out strings.Builder
	if _, err := s.tail("r", 0, &out, gone); !errors.Is(err, errGone) {
		t.Errorf("%v", err)
	}
	a.conn.Close()
	if status, err := s.status("r"); err != nil || status.State != RunRunning {
		t.Errorf("the run: %+v, %v", status, err)
	}
}

// Frames that are longer than they may be are refused before they are read.
func TestFrameBound(t *testing.T) {
	var buffer bytes.Buffer
	f := NewFrames(&buffer)
	if err := f.Write(FrameStdout, make([]byte, 11)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Next(10); err == nil || buffer.Len() != 11 {
		t.Errorf("%v, %d bytes left", err, buffer.Len())
	}
}
