package sandbox

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExec(t *testing.T) {
	container := testContainer(t)
	for name, c := range map[string]struct {
		cmd  Cmd
		want Result
	}{
		"streams and code": {
			Cmd{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 7"}},
			Result{Stdout: []byte("out\n"), Stderr: []byte("err\n"), Code: 7},
		},
		"stdin": {
			Cmd{Argv: []string{"cat"}, Stdin: strings.NewReader("a\x00b\r\n")},
			Result{Stdout: []byte("a\x00b\r\n")},
		},
		"no stdin":  {Cmd{Argv: []string{"cat"}}, Result{}},
		"directory": {Cmd{Argv: []string{"pwd"}, Dir: "/root"}, Result{Stdout: []byte("/root\n")}},
		"environment": {
			Cmd{Argv: []string{"sh", "-c", "echo $A $HOME"}, Env: []string{"A=b c"}},
			Result{Stdout: []byte("b c /root\n")},
		},
		"no shell":  {Cmd{Argv: []string{"echo", "$HOME; `id`", "a  b"}}, Result{Stdout: []byte("$HOME; `id` a  b\n")}},
		"cut":       {Cmd{Argv: []string{"sh", "-c", "echo 12345678; echo abc >&2"}, MaxOutput: 5}, Result{Stdout: []byte("12345"), Stderr: []byte("abc\n"), Truncated: true}},
		"by signal": {Cmd{Argv: []string{"sh", "-c", "kill -9 $$"}}, Result{Code: 137}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := container.Exec(t.Context(), c.cmd)
			if err != nil {
				t.Fatal(err)
			}
			equal := cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })
			if diff := cmp.Diff(c.want, got, equal); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Unread input does no harm. Podman adds text of its own to stderr.
func TestExecUnreadInput(t *testing.T) {
	container := testContainer(t)
	got, err := container.Exec(t.Context(), Cmd{Argv: []string{"false"}, Stdin: strings.NewReader(strings.Repeat("x", 1<<20))})
	if err != nil || got.Code != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestExecBounded(t *testing.T) {
	container := testContainer(t)
	got, err := container.Exec(t.Context(), Cmd{Argv: []string{"sh", "-c", "yes | head -c 20000000"}})
	if err != nil || len(got.Stdout) != defaultMaxOutput || !got.Truncated {
		t.Errorf("%d bytes, truncated %v, %v", len(got.Stdout), got.Truncated, err)
	}
}

func TestExecFails(t *testing.T) {
	container := testContainer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := container.Exec(ctx, Cmd{Argv: []string{"sleep", "1000"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want DeadlineExceeded", err)
	}
	if _, err := container.Exec(t.Context(), Cmd{}); err == nil {
		t.Error("no command, no error")
	}
	if result, err := container.Exec(t.Context(), Cmd{Argv: []string{"/no/such"}}); err == nil && result.Code == 0 {
		t.Errorf("no such command: %+v", result)
	}
}

func TestFiles(t *testing.T) {
	container := testContainer(t)
	ctx := t.Context()
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16) // 1 MiB
	if err := container.WriteFile(ctx, "/workspace/deep/er/file", big); err != nil {
		t.Fatal(err)
	}
	if got, err := container.ReadFile(ctx, "/workspace/deep/er/file", 2<<20); err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := container.ReadFile(ctx, "/workspace/deep/er/file", 10); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
	all := make([]byte, 0, 1<<17) // every pair of bytes: podman could take some for its detach sequence
	for a := range 256 {
		for b := range 256 {
			all = append(all, byte(a), byte(b))
		}
	}
	if err := container.WriteFile(ctx, "/workspace/bytes", all); err != nil {
		t.Error(err)
	}
	if got, err := container.ReadFile(ctx, "/workspace/bytes", 1<<20); err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d bytes of %d, %v", len(got), len(all), err)
	}
	sh(t, container, "rm -r deep bytes; ln -s /etc/passwd link; mkfifo fifo; mkdir dir")
	if err := container.WriteFile(ctx, "/workspace/fresh", []byte("x")); err != nil {
		t.Error(err)
	}
	if err := container.WriteFile(ctx, "/workspace/link", nil); err != nil { // replaces the link
		t.Error(err)
	}
	if got := sh(t, container, "cat fresh; echo; stat -c '%a %F' fresh link; head -c 4 /etc/passwd; ls -a | grep boxinit || true"); got != "x\n644 regular file\n644 regular empty file\nroot" {
		t.Errorf("found %q", got)
	}
	for _, path := range []string{"/workspace/none", "/workspace/fifo", "/workspace/dir", "/dev/zero"} {
		if _, err := container.ReadFile(ctx, path, 10); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", path, err)
		}
	}
	if err := container.WriteFile(ctx, "/workspace/dir", []byte("x")); err == nil {
		t.Error("a directory was overwritten")
	}
	if err := container.WriteFile(ctx, "/proc/x", []byte("x")); err == nil {
		t.Error("/proc was written to")
	}
}
