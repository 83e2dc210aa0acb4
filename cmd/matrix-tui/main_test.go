package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/state"
)

func TestCommandLine(t *testing.T) {
	state := "STATE_DIR=" + t.TempDir()
	for _, tt := range []struct {
		args           string
		environ        []string
		code           int
		stdout, stderr string // pieces
	}{
		{"", nil, 2, "", "usage: matrix-tui SUBCOMMAND"},
		{"help", nil, 0, "usage: matrix-tui SUBCOMMAND", ""},
		{"dance", nil, 2, "", `unknown subcommand "dance"`},
		{"version", nil, 0, "matrix-tui ", ""},
		{"version now", nil, 2, "", `unexpected argument "now"`},
		{"doctor -help", nil, 0, "-offline", ""},
		{"doctor -x", nil, 2, "", "matrix-tui: flag provided but not defined: -x\n"},
		{"run", []string{state}, 2, "", "MATRIX_HOMESERVER is missing"},
		{"run", []string{state, "LOG_LEVEL=loud"}, 2, "", `LOG_LEVEL is "loud"`},
		{"rooms", []string{state, "MATRIX_USR=x"}, 2, "", "did you mean MATRIX_USER?"},
	} {
		t.Run(tt.args+strings.Join(tt.environ, " "), func(t *testing.T) {
			got := clitest.Play(t, t.Context(), commands, tt.environ, strings.Fields(tt.args)...)
			if got.Code != tt.code || !strings.Contains(got.Stdout, tt.stdout) || !strings.Contains(got.Stderr, tt.stderr) {
				t.Errorf("got code %d, stdout %q, stderr %q; want %d, %q, %q", got.Code, got.Stdout, got.Stderr, tt.code, tt.stdout, tt.stderr)
			}
			if tt.stdout == "" && got.Stdout != "" || tt.stderr == "" && got.Stderr != "" {
				t.Errorf("too much output: stdout %q, stderr %q", got.Stdout, got.Stderr)
			}
		})
	}
}

// fullSettings are enough for `run`; they name things that do not exist.
func fullSettings(dir string) []string {
	return []string{
		"MATRIX_HOMESERVER=http://127.0.0.1:1", "MATRIX_USER=bot", "MATRIX_PASSWORD=" + clitest.Hidden, "MATRIX_OWNERS=@a:x",
		"GEMINI_API_KEY=" + clitest.Hidden, "STATE_DIR=" + dir, "CONTAINER_HOST=unix://" + dir + "/podman.sock",
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Run("podman", func(t *testing.T) {
		got := clitest.Play(t, t.Context(), commands, fullSettings(t.TempDir()), "run")
		if got.Code != 1 || !strings.Contains(got.Stderr, "\nmatrix-tui: Podman does not answer.") || clitest.Leaks(got.Stderr) {
			t.Errorf("code %d, stderr %s", got.Code, got.Stderr)
		}
	})
	t.Run("second bot", func(t *testing.T) {
		dir := t.TempDir()
		lock, err := state.Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := clitest.Play(t, t.Context(), commands, fullSettings(dir), "run")
		if want := fmt.Sprintf("matrix-tui: A bot already runs on %s (process %d)", dir, os.Getpid()); got.Code != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("code %d, stderr %s", got.Code, got.Stderr)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		// Everything opened is closed again, even if the next part fails.
		_ = clitest.Play(t, t.Context(), commands, fullSettings(dir), "run")
		if lock, err = state.Lock(dir); err != nil {
			t.Fatalf("after a failed start the folder is still locked: %v", err)
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("port of the HTTP interface", func(t *testing.T) {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := taken.Addr().String()
		environ := append(fullSettings(t.TempDir()), "API_LISTEN="+address, "API_TOKEN="+clitest.Hidden)
		got := clitest.Play(t, t.Context(), commands, environ, "run")
		if want := "matrix-tui: invalid configuration: API_LISTEN is " + address + ", but another program is already listening there"; got.Code != 2 || !strings.Contains(got.Stderr, want) || clitest.Leaks(got.Stderr) {
			t.Errorf("code %d, stderr %s", got.Code, got.Stderr)
		}
		if err := taken.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first one released the port, although it never served
			if got := clitest.Play(t, t.Context(), commands, environ, "run"); got.Code != 1 || !strings.Contains(got.Stderr, "Podman does not answer") {
				t.Errorf("code %d, stderr %s", got.Code, got.Stderr)
			}
		}
	})
	t.Run("asked to end while starting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := clitest.Play(t, ctx, commands, fullSettings(t.TempDir()), "run"); got.Code != 0 {
			t.Errorf("code %d, stderr %s", got.Code, got.Stderr)
		}
	})
}

func TestStoredLoginNeedsNoPassword(t *testing.T) {
	dir := t.TempDir()
	environ := fullSettings(dir)
	environ[2] = "MATRIX_PASSWORD="
	if got := clitest.Play(t, t.Context(), commands, environ, "run"); got.Code != 2 || !strings.Contains(got.Stderr, "MATRIX_PASSWORD is missing") {
		t.Errorf("without a login: code %d, stderr %s", got.Code, got.Stderr)
	}
	account := `{"homeserver":"http://127.0.0.1:1","user_id":"@bot:x","device_id":"D","access_token":"` + clitest.Hidden + `"}`
	if err := os.WriteFile(dir+"/account.json", []byte(account), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := clitest.Play(t, t.Context(), commands, environ, "run"); got.Code != 1 || !strings.Contains(got.Stderr, "Podman does not answer") {
		t.Errorf("with a stored login: code %d, stderr %s", got.Code, got.Stderr)
	}
	environ[1] = "MATRIX_USER=@other:x"
	if got := clitest.Play(t, t.Context(), commands, environ, "run"); got.Code != 2 {
		t.Errorf("with somebody else's login: code %d, stderr %s", got.Code, got.Stderr)
	}
}

// signalHelper, in the environment, makes this test binary wait for signals.
const signalHelper = "MATRIX_TUI_SIGNAL_HELPER"

// waitForSignals is the process that TestSignals signals.
func waitForSignals() {
	ctx, _ := untilSignal(context.Background())
	fmt.Println("waiting")
	<-ctx.Done()
	fmt.Println("draining")
	select {}
}

func TestSignals(t *testing.T) {
	helper := exec.CommandContext(t.Context(), os.Args[0])
	helper.Env = append(os.Environ(), signalHelper+"=1")
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for _, step := range []struct {
		says string
		send syscall.Signal
	}{{"waiting\n", syscall.SIGTERM}, {"draining\n", syscall.SIGINT}} {
		if got, err := lines.ReadString('\n'); got != step.says || err != nil {
			t.Fatalf("the process says %q, %v; want %q", got, err, step.says)
		}
		if err := helper.Process.Signal(step.send); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.Copy(io.Discard, lines)
	var exit *exec.ExitError
	if err := helper.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGINT) {
		t.Errorf("after the second signal the process ends with %v, want code 130", err)
	}
}
