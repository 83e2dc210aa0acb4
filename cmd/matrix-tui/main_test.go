package main

import (
	"bufio"
	"bytes"
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

	"matrix-tui/state"
)

// played is the result of a subcommand.
type played struct {
	code           int
	stdout, stderr string
}

// play runs matrix-tui in this process, with only these settings and an empty input.
func play(t *testing.T, ctx context.Context, environ []string, args ...string) played {
	t.Helper()
	empty, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	var stdout, stderr bytes.Buffer
	a := &app{environ: environ, dir: t.TempDir(), stdin: empty, stdout: &stdout, stderr: &stderr}
	code := dispatch(ctx, a, commands, args)
	return played{code, stdout.String(), stderr.String()}
}

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
			got := play(t, t.Context(), tt.environ, strings.Fields(tt.args)...)
			if got.code != tt.code || !strings.Contains(got.stdout, tt.stdout) || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("got code %d, stdout %q, stderr %q; want %d, %q, %q", got.code, got.stdout, got.stderr, tt.code, tt.stdout, tt.stderr)
			}
			if tt.stdout == "" && got.stdout != "" || tt.stderr == "" && got.stderr != "" {
				t.Errorf("too much output: stdout %q, stderr %q", got.stdout, got.stderr)
			}
		})
	}
}

// fullSettings are enough for `run`; they name things that do not exist.
func fullSettings(dir string) []string {
	return []string{
		"MATRIX_HOMESERVER=http://127.0.0.1:1", "MATRIX_USER=bot", "MATRIX_PASSWORD=" + hidden, "MATRIX_OWNERS=@a:x",
		"GEMINI_API_KEY=" + hidden, "STATE_DIR=" + dir, "CONTAINER_HOST=unix://" + dir + "/podman.sock",
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Run("podman", func(t *testing.T) {
		got := play(t, t.Context(), fullSettings(t.TempDir()), "run")
		if got.code != 1 || !strings.Contains(got.stderr, "\nmatrix-tui: Podman does not answer.") || leaks(got.stderr) {
			t.Errorf("code %d, stderr %s", got.code, got.stderr)
		}
	})
	t.Run("second bot", func(t *testing.T) {
		dir := t.TempDir()
		lock, err := state.Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := play(t, t.Context(), fullSettings(dir), "run")
		if want := fmt.Sprintf("matrix-tui: A bot already runs on %s (process %d)", dir, os.Getpid()); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("code %d, stderr %s", got.code, got.stderr)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		// Everything opened is closed again, even if the next part fails.
		_ = play(t, t.Context(), fullSettings(dir), "run")
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
		environ := append(fullSettings(t.TempDir()), "API_LISTEN="+address, "API_TOKEN="+hidden)
		got := play(t, t.Context(), environ, "run")
		if want := "matrix-tui: invalid configuration: API_LISTEN is " + address + ", but another program is already listening there"; got.code != 2 || !strings.Contains(got.stderr, want) || leaks(got.stderr) {
			t.Errorf("code %d, stderr %s", got.code, got.stderr)
		}
		if err := taken.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first one released the port, although it never served
			if got := play(t, t.Context(), environ, "run"); got.code != 1 || !strings.Contains(got.stderr, "Podman does not answer") {
				t.Errorf("code %d, stderr %s", got.code, got.stderr)
			}
		}
	})
	t.Run("asked to end while starting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := play(t, ctx, fullSettings(t.TempDir()), "run"); got.code != 0 {
			t.Errorf("code %d, stderr %s", got.code, got.stderr)
		}
	})
}

func TestStoredLoginNeedsNoPassword(t *testing.T) {
	dir := t.TempDir()
	environ := fullSettings(dir)
	environ[2] = "MATRIX_PASSWORD="
	if got := play(t, t.Context(), environ, "run"); got.code != 2 || !strings.Contains(got.stderr, "MATRIX_PASSWORD is missing") {
		t.Errorf("without a login: code %d, stderr %s", got.code, got.stderr)
	}
	account := `{"homeserver":"http://127.0.0.1:1","user_id":"@bot:x","device_id":"D","access_token":"` + hidden + `"}`
	if err := os.WriteFile(dir+"/account.json", []byte(account), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := play(t, t.Context(), environ, "run"); got.code != 1 || !strings.Contains(got.stderr, "Podman does not answer") {
		t.Errorf("with a stored login: code %d, stderr %s", got.code, got.stderr)
	}
	environ[1] = "MATRIX_USER=@other:x"
	if got := play(t, t.Context(), environ, "run"); got.code != 2 {
		t.Errorf("with somebody else's login: code %d, stderr %s", got.code, got.stderr)
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
