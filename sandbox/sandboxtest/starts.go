package sandboxtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox"
)

// refused: a run that cannot start says why, and leaves nothing behind.
func refused(t *testing.T, s *Site, c *sandbox.Container) {
	long := strings.Repeat("x", 200_000)
	tooLong := "argument list too long"
	if s.OwnKernel {
		tooLong = "file name too long"
	}
	for name, bad := range map[string]struct {
		spec sandbox.RunSpec
		want string
	}{
		"no such command": {sandbox.RunSpec{Argv: []string{"no-such-command"}}, "command no-such-command is not on the PATH"},
		"no such path":    {sandbox.RunSpec{Argv: []string{"/no/such"}}, "no such file"},
		"no such dir":     {sandbox.RunSpec{Argv: []string{"true"}, Dir: "/no/such"}, "directory /no/such does not exist"},
		"long argument":   {sandbox.RunSpec{Argv: []string{"true", long}}, tooLong},
		"no command":      {sandbox.RunSpec{}, "no command"},
		"file in the way": {sandbox.RunSpec{Argv: []string{"true"}, Files: []sandbox.File{{Path: "/etc/passwd/x"}}}, "not a directory"},
	} {
		bad.spec.ID = "same"
		if _, err := c.StartRun(t.Context(), bad.spec); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, want %q", name, err, bad.want)
		}
	}
	if _, err := c.StartRun(t.Context(), sandbox.RunSpec{ID: "../x", Argv: []string{"true"}}); err == nil {
		t.Error("an ID with a path was accepted")
	}
	if existed, err := c.StartRun(t.Context(), sandbox.RunSpec{ID: "same", Argv: []string{"true"}}); err != nil || existed {
		t.Error(existed, err)
	}
}

// longArgument: a command's argument arrives as it is.
func longArgument(t *testing.T, _ *Site, c *sandbox.Container) {
	argument := strings.Repeat("é\n\"$x", 100_000/7) // 7 bytes each
	if _, err := c.StartRun(t.Context(), sandbox.RunSpec{ID: "big", Argv: []string{"printf", "%s", argument}}); err != nil {
		t.Fatal(err)
	}
	if out, _ := follow(t, c, "big"); out != argument {
		t.Errorf("%d bytes came back, want %d", len(out), len(argument))
	}
}

// runFiles: files are written, removed and watched with a run.
func runFiles(t *testing.T, _ *Site, c *sandbox.Container) {
	Sh(t, c, "echo mine > /workspace/status.md; touch /root/lock")
	spec := sandbox.RunSpec{
		ID: "first", Argv: []string{"sh", "-c", "echo more >> /workspace/status.md; cat /root/.x/settings.json; stat -c %a /root/.x/settings.json; until [ -e /workspace/go ]; do sleep 0.05; done"},
		Files: []sandbox.File{
			{Path: "/root/.x/settings.json", Data: []byte("{}\n"), Mode: 0o600},
			{Path: "/workspace/status.md", Data: []byte("new"), New: true},
			{Path: "/workspace/context.md", Data: []byte("# Context\n"), New: true},
		},
		Remove: []string{"/root/lock", "/root/not-there"},
		Watch:  []string{"/workspace/status.md", "/workspace/none"},
	}
	if _, err := c.StartRun(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	Sh(t, c, "test ! -e /root/lock; touch /root/lock")
	second := sandbox.RunSpec{ID: "second", Argv: []string{"true"}, Remove: []string{"/root/lock"}}
	if _, err := c.StartRun(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	Sh(t, c, "test -e /root/lock; touch /workspace/go") // another run is active: not removed
	out, status := follow(t, c, "first")
	if out != "{}\n600\n" {
		t.Errorf("stdout %q", out)
	}
	want := []sandbox.Watched{
		{Path: "/workspace/status.md", Before: 5, After: 10, Tail: "mine\nmore\n"},
		{Path: "/workspace/none", Before: -1, After: -1, Absent: true},
	}
	if diff := cmp.Diff(want, status.Watch); diff != "" {
		t.Error(diff)
	}
	if got := Sh(t, c, "cat /workspace/context.md"); got != "# Context" {
		t.Errorf("context.md holds %q", got)
	}
}

// withoutFiles: a run does not start if one of the files in Without exists, and leaves no trace.
func withoutFiles(t *testing.T, _ *Site, c *sandbox.Container) {
	spec := sandbox.RunSpec{ID: "without", Argv: []string{"echo", "done"}, Without: []string{"/workspace/none", "/workspace/link", "/workspace/empty", "/workspace/dir", "/workspace/SOUL.md"}}
	Sh(t, c, "cd /workspace; mkdir dir; touch empty; ln -s /etc/passwd link; echo pirate > SOUL.md")
	if _, err := c.StartRun(t.Context(), spec); !errors.Is(err, sandbox.ErrFileExists) || !strings.Contains(err.Error(), "SOUL.md") {
		t.Fatalf("started despite a file: %v", err)
	}
	if status, err := c.RunStatus(t.Context(), spec.ID); err != nil || status.State != sandbox.RunNone {
		t.Fatalf("state %v, %v", status.State, err)
	}
	Sh(t, c, "rm /workspace/SOUL.md")
	if existed, err := c.StartRun(t.Context(), spec); err != nil || existed {
		t.Fatalf("existed %v, %v", existed, err)
	}
	if out, _ := follow(t, c, spec.ID); out != "done\n" {
		t.Errorf("stdout %q", out)
	}
}
