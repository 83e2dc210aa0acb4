package boxinit

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// attended is a process that carries out requests.
type attended struct {
	t        *testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err *json.Decoder
}

func attend(t *testing.T) *attended {
	t.Helper()
	testStore(t)
	cmd := exec.Command("/proc/self/exe", "attend")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	errs, err3 := cmd.StderrPipe()
	for _, err := range []error{err1, err2, err3, cmd.Start()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	return &attended{t, cmd, in, json.NewDecoder(out), json.NewDecoder(errs)}
}

func (a *attended) ask(r Request, reply any) {
	a.t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.in.Write(append(data, '\n')); err != nil {
		a.t.Fatal(err)
	}
	if err := a.out.Decode(reply); err != nil {
		a.t.Fatal(err)
	}
}

func TestAttend(t *testing.T) {
	a := attend(t)
	for _, c := range []struct {
		command Command
		want    Reply
	}{
		{Command{Argv: []string{"sh", "-c", `echo "$X" in "$PWD"; echo no >&2; exit 3`}, Env: []string{"X=x"}, Dir: "/"}, Reply{Stdout: []byte("x in /\n"), Stderr: []byte("no\n"), Code: 3}},
		{Command{Argv: []string{"sh", "-c", "kill -9 $$"}}, Reply{Code: 128 + int(syscall.SIGKILL)}},
		{Command{Argv: []string{"cat"}}, Reply{}},
		{Command{Argv: []string{"echo", "12345"}, MaxOutput: 3}, Reply{Stdout: []byte("123"), Truncated: true}},
		{Command{}, Reply{Error: "no command"}},
	} {
		if c.command.MaxOutput == 0 {
			c.command.MaxOutput = 100
		}
		var got Reply
		a.ask(Request{Exec: &c.command}, &got)
		if string(got.Stdout) != string(c.want.Stdout) || string(got.Stderr) != string(c.want.Stderr) || got.Code != c.want.Code || got.Truncated != c.want.Truncated || got.Error != c.want.Error {
			t.Errorf("%q: %+v, want %+v", c.command.Argv, got, c.want)
		}
	}
	var missing Reply
	if a.ask(Request{Exec: &Command{Argv: []string{"no-such-program"}}}, &missing); !strings.Contains(missing.Error, "no-such-program") {
		t.Errorf("a program that does not exist: %+v", missing)
	}
	var piped Reply
	if a.ask(Request{Pipe: &Command{Argv: []string{"cat"}, Input: []byte("a\x00b\r\n"), MaxOutput: 100}}, &piped); string(piped.Stdout) != "a\x00b\r\n" || !piped.Piped {
		t.Errorf("a command with an input: %+v", piped)
	}
	// A process that a command leaves behind keeps nobody waiting.
	var left Reply
	if a.ask(Request{Exec: &Command{Argv: []string{"sh", "-c", "sleep 60 & echo $!"}, MaxOutput: 100}}, &left); left.Error != "" || len(left.Stdout) == 0 {
		t.Errorf("a command that leaves a process behind: %+v", left)
	}
	exec.Command("kill", strings.TrimSpace(string(left.Stdout))).Run()
	// Runs take turns with commands.
	for _, id := range []string{"one", "two"} {
		var answer Answer
		a.ask(Request{Run: &RunSpec{ID: id, Dir: "/", Argv: []string{"sh", "-c", `echo '"out"'; exit 4`}}}, &answer)
		var out string
		var end Ended
		if err := a.out.Decode(&out); err != nil || answer != (Answer{}) {
			t.Fatalf("%+v, %v", answer, err)
		}
		if err := a.err.Decode(&end); err != nil || end.Status.Code != 4 || end.Sent != 6 || out != "out" {
			t.Errorf("%+v, %v, %q", end, err, out)
		}
		var again Answer
		if a.ask(Request{Run: &RunSpec{ID: "/"}}, &again); again.Error == "" {
			t.Errorf("a run without a valid ID: %+v", again)
		}
		var nothing Reply
		a.ask(Request{}, &nothing)
	}
}

// It ends with its caller, and the run goes on.
func TestAttendEndsWithItsCaller(t *testing.T) {
	a := attend(t)
	s := store{os.Getenv("BOXINIT_TEST_DIR")}
	var answer Answer
	a.ask(Request{Run: &RunSpec{ID: "r", Dir: "/", Argv: []string{"sleep", "1000"}}}, &answer)
	a.in.Close()
	ended := make(chan struct{})
	go func() { _ = a.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it did not end")
	}
	if status, err := s.status("r"); err != nil || status.State != RunRunning {
		t.Errorf("the run: %+v, %v", status, err)
	}
}
