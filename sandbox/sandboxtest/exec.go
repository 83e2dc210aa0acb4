package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox"
)

// execs: a command gets its input and environment, and its output and exit code come back.
func execs(t *testing.T, _ *Site, c *sandbox.Container) {
	for name, e := range map[string]struct {
		cmd  sandbox.Cmd
		want sandbox.Result
	}{
		"streams and code": {
			sandbox.Cmd{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 7"}},
			sandbox.Result{Stdout: []byte("out\n"), Stderr: []byte("err\n"), Code: 7},
		},
		"stdin": {
			sandbox.Cmd{Argv: []string{"cat"}, Stdin: strings.NewReader("a\x00b\r\n")},
			sandbox.Result{Stdout: []byte("a\x00b\r\n")},
		},
		"no stdin":  {sandbox.Cmd{Argv: []string{"cat"}}, sandbox.Result{}},
		"directory": {sandbox.Cmd{Argv: []string{"pwd"}, Dir: "/root"}, sandbox.Result{Stdout: []byte("/root\n")}},
		"environment": {
			sandbox.Cmd{Argv: []string{"sh", "-c", "echo $A $HOME"}, Env: []string{"A=b c"}},
			sandbox.Result{Stdout: []byte("b c /root\n")},
		},
		"no shell":  {sandbox.Cmd{Argv: []string{"echo", "$HOME; `id`", "a  b"}}, sandbox.Result{Stdout: []byte("$HOME; `id` a  b\n")}},
		"cut":       {sandbox.Cmd{Argv: []string{"sh", "-c", "echo 12345678; echo abc >&2"}, MaxOutput: 5}, sandbox.Result{Stdout: []byte("12345"), Stderr: []byte("abc\n"), Truncated: true}},
		"by signal": {sandbox.Cmd{Argv: []string{"sh", "-c", "kill -9 $$"}}, sandbox.Result{Code: 137}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Exec(t.Context(), e.cmd)
			if err != nil {
				t.Fatal(err)
			}
			equal := cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })
			if diff := cmp.Diff(e.want, got, equal); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// execFails: what is not read does no harm, output is bounded, and a command that does not end or start is an error.
func execFails(t *testing.T, _ *Site, c *sandbox.Container) {
	got, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"false"}, Stdin: strings.NewReader(strings.Repeat("x", 1<<20))})
	if err != nil || got.Code != 1 {
		t.Errorf("input that is not read: %+v, %v", got, err)
	}
	got, err = c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"sh", "-c", "yes | head -c 20000000"}})
	if err != nil || len(got.Stdout) != 1<<20 || !got.Truncated {
		t.Errorf("%d bytes, truncated %v, %v", len(got.Stdout), got.Truncated, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(ctx, sandbox.Cmd{Argv: []string{"sleep", "1000"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want DeadlineExceeded", err)
	}
	if _, err := c.Exec(t.Context(), sandbox.Cmd{}); err == nil {
		t.Error("no command, no error")
	}
	if result, err := c.Exec(t.Context(), sandbox.Cmd{Argv: []string{"/no/such"}}); err == nil && result.Code == 0 {
		t.Errorf("no such command: %+v", result)
	}
}

// files: a file is written whole and read up to a bound, and nothing but a regular file is.
func files(t *testing.T, _ *Site, c *sandbox.Container) {
	ctx := t.Context()
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16) // 1 MiB
	if err := c.WriteFile(ctx, "/workspace/deep/er/file", big); err != nil {
		t.Fatal(err)
	}
	if got, err := c.ReadFile(ctx, "/workspace/deep/er/file", 2<<20); err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := c.ReadFile(ctx, "/workspace/deep/er/file", 10); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
	all := make([]byte, 0, 1<<17) // every pair of bytes: an engine could take some for its own
	for a := range 256 {
		for b := range 256 {
			all = append(all, byte(a), byte(b))
		}
	}
	if err := c.WriteFile(ctx, "/workspace/bytes", all); err != nil {
		t.Error(err)
	}
	if got, err := c.ReadFile(ctx, "/workspace/bytes", 1<<20); err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d bytes of %d, %v", len(got), len(all), err)
	}
	Sh(t, c, "rm -r deep bytes; ln -s /etc/passwd link; mkfifo fifo; mkdir dir")
	if err := c.WriteFile(ctx, "/workspace/fresh", []byte("x")); err != nil {
		t.Error(err)
	}
	if err := c.WriteFile(ctx, "/workspace/link", nil); err != nil { // replaces the link
		t.Error(err)
	}
	if got := Sh(t, c, "cat fresh; echo; stat -c '%a %F' fresh link; head -c 4 /etc/passwd; ls -a | grep boxinit || true"); got != "x\n644 regular file\n644 regular empty file\nroot" {
		t.Errorf("found %q", got)
	}
	for _, path := range []string{"/workspace/none", "/workspace/fifo", "/workspace/dir", "/dev/zero"} {
		if _, err := c.ReadFile(ctx, path, 10); !errors.Is(err, sandbox.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", path, err)
		}
	}
	if err := c.WriteFile(ctx, "/workspace/dir", []byte("x")); err == nil {
		t.Error("a directory was overwritten")
	}
	if err := c.WriteFile(ctx, "/proc/x", []byte("x")); err == nil {
		t.Error("/proc was written to")
	}
}
