package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStartRunRefuses(t *testing.T) {
	container := testContainer(t)
	long := strings.Repeat("x", 200_000)
	for name, c := range map[string]struct {
		spec RunSpec
		want string
	}{
		"no such command": {RunSpec{Argv: []string{"no-such-command"}}, "command no-such-command is not on the PATH"},
		"no such path":    {RunSpec{Argv: []string{"/no/such"}}, "no such file"},
		"no such dir":     {RunSpec{Argv: []string{"true"}, Dir: "/no/such"}, "directory /no/such does not exist"},
		"long argument":   {RunSpec{Argv: []string{"true", long}}, "argument list too long"},
		"no command":      {RunSpec{}, "no command"},
		"file in the way": {RunSpec{Argv: []string{"true"}, Files: []File{{Path: "/etc/passwd/x"}}}, "not a directory"},
	} {
		c.spec.ID = "same"
		if _, err := container.StartRun(t.Context(), c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "../x", Argv: []string{"true"}}); err == nil {
		t.Error("an ID with a path was accepted")
	}
	// A run that could not start leaves nothing behind.
	if existed, err := container.StartRun(t.Context(), RunSpec{ID: "same", Argv: []string{"true"}}); err != nil || existed {
		t.Error(existed, err)
	}
}

func TestRunBigArgument(t *testing.T) {
	container := testContainer(t)
	argument := strings.Repeat("é\n\"$x", 100_000/7) // 7 bytes each
	if _, err := container.StartRun(t.Context(), RunSpec{ID: "big", Argv: []string{"printf", "%s", argument}}); err != nil {
		t.Fatal(err)
	}
	if out, _ := follow(t, container, "big"); out != argument {
		t.Errorf("%d bytes came back, want %d", len(out), len(argument))
	}
}

func TestRunFiles(t *testing.T) {
	container := testContainer(t)
	sh(t, container, "echo mine > /workspace/status.md; touch /root/lock")
	spec := RunSpec{
		ID: "first", Argv: []string{"sh", "-c", "echo more >> /workspace/status.md; cat /root/.x/settings.json; stat -c %a /root/.x/settings.json; until [ -e /workspace/go ]; do sleep 0.05; done"},
		Files: []File{
			{Path: "/root/.x/settings.json", Data: []byte("{}\n"), Mode: 0o600},
			{Path: "/workspace/status.md", Data: []byte("new"), New: true},
			{Path: "/workspace/context.md", Data: []byte("# Context\n"), New: true},
		},
		Remove: []string{"/root/lock", "/root/not-there"},
		Watch:  []string{"/workspace/status.md", "/workspace/none"},
	}
	if _, err := container.StartRun(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	sh(t, container, "test ! -e /root/lock; touch /root/lock")
	second := RunSpec{ID: "second", Argv: []string{"true"}, Remove: []string{"/root/lock"}}
	if _, err := container.StartRun(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	sh(t, container, "test -e /root/lock; touch /workspace/go") // another run is active: not removed
	out, status := follow(t, container, "first")
	if out != "{}\n600\n" {
		t.Errorf("stdout %q", out)
	}
	want := []Watched{
		{Path: "/workspace/status.md", Before: 5, After: 10, Tail: "mine\nmore\n"},
		{Path: "/workspace/none", Before: -1, After: -1, Absent: true},
	}
	if diff := cmp.Diff(want, status.Watch); diff != "" {
		t.Error(diff)
	}
	if got := sh(t, container, "cat /workspace/context.md"); got != "# Context" {
		t.Errorf("context.md holds %q", got)
	}
}

// A run with Without does not start if one of the files exists, and leaves no trace.
func TestRunWithout(t *testing.T) {
	container := testContainer(t)
	spec := RunSpec{ID: "without", Argv: []string{"echo", "done"}, Without: []string{"/workspace/none", "/workspace/link", "/workspace/empty", "/workspace/dir", "/workspace/SOUL.md"}}
	sh(t, container, "cd /workspace; mkdir dir; touch empty; ln -s /etc/passwd link; echo pirate > SOUL.md")
	if _, err := container.StartRun(t.Context(), spec); !errors.Is(err, ErrFileExists) || !strings.Contains(err.Error(), "SOUL.md") {
		t.Fatalf("started despite a file: %v", err)
	}
	if status, err := container.RunStatus(t.Context(), spec.ID); err != nil || status.State != RunNone {
		t.Fatalf("state %v, %v", status.State, err)
	}
	sh(t, container, "rm /workspace/SOUL.md")
	if existed, err := container.StartRun(t.Context(), spec); err != nil || existed {
		t.Fatalf("existed %v, %v", existed, err)
	}
	if out, _ := follow(t, container, spec.ID); out != "done\n" {
		t.Errorf("stdout %q", out)
	}
}
