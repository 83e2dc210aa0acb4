package recall

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"matrix-tui/sandbox"
	"matrix-tui/state"
	"matrix-tui/state/scrub"
	"matrix-tui/workspace"
)

// broken is a container whose commands fail, or are cut.
type broken struct {
	folder
	how func(*sandbox.Result)
}

func (b broken) Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
	res, err := b.folder.Exec(ctx, cmd)
	b.how(&res)
	return res, err
}

// Files that could not be read stay as they are.
func TestSyncAfterFailedRead(t *testing.T) {
	d := newDen(t)
	add(t, d.Memory, state.Semantic, "The cat is called Pixel.")
	mine := "# Mine\n\n- The dog is called Rex.\n"
	for name, how := range map[string]func(*sandbox.Result){
		"exit 2":    func(res *sandbox.Result) { res.Code, res.Stdout = 2, nil },
		"no awk":    func(res *sandbox.Result) { res.Stdout, res.Stderr = make([]byte, 10240), nil },
		"truncated": func(res *sandbox.Result) { res.Truncated = true },
		"cut":       func(res *sandbox.Result) { res.Stdout = res.Stdout[:700] },
	} {
		d.edit("MEMORY.md", func(string) string { return mine })
		d.edit("context.md", func(string) string { return "# Context\n\nmine\n" })
		if _, err := d.Sync(t.Context(), "!r", broken{d.folder, how}, nil, d.forget); err == nil {
			t.Errorf("%s: no error", name)
		}
		if d.read("MEMORY.md") != mine || d.read("context.md") != "# Context\n\nmine\n" {
			t.Errorf("%s: the files have changed", name)
		}
	}
}

// A file that is too large stays as it is; the others are kept in line.
func TestSyncLeavesLargeFiles(t *testing.T) {
	large := strings.Repeat("a line of mine\n", 80_000)
	for _, name := range []string{"MEMORY.md", "status.md", "context.md", "memory/2026-11-23.md"} {
		d := newDen(t)
		done := task(1, 0, "Back up the database", "Backed up production")
		done.Calls = []Call{{Tool: ShellTool, Detail: "pg_dump", Output: "ok"}}
		learn(t, d.Memory, done)
		add(t, d.Memory, state.Semantic, "The cat is called Pixel.")
		d.edit(name, func(string) string { return large })
		for range 2 {
			if _, err := d.Sync(t.Context(), "!r", d.folder, nil, d.forget); !errors.Is(err, ErrLarge) {
				t.Error(err)
			}
		}
		if d.read(name) != large {
			t.Errorf("%s has changed", name)
		}
		for other, want := range map[string]string{"MEMORY.md": "Pixel", "memory/2026-11-23.md": "Back up", "context.md": "Back up"} {
			if other != name && !strings.Contains(d.read(other), want) {
				t.Errorf("large %s: %s is\n%s", name, other, d.read(other))
			}
		}
		d.edit(name, func(string) string { return "# Short\n" })
		d.sync(nil)
		d.sync(nil)
		if got := d.read("MEMORY.md") + d.read("memory/2026-11-23.md") + d.found("Pixel backup"); !strings.Contains(got, "Pixel") || !strings.Contains(got, "Back up") {
			t.Errorf("after %s was large: %s", name, got)
		}
	}
}

// Whatever an agent leaves in its workspace, Sync reads little and does its work.
func TestSyncInHostileWorkspace(t *testing.T) {
	for name, script := range map[string]string{
		"links and pipes": "mkdir memory; ln -s /etc/passwd status.md; ln -s /dev/zero context.md; mkfifo memory/2026-01-01.md; ln -s / memory/2026-01-02.md; mkdir memory/2026-01-03.md",
		"a gigabyte":      "mkdir memory; for i in $(seq 1000 1900); do truncate -s 1M memory/$i-01-01.md; done; truncate -s 1G memory/2026-01-01.md context.md",
		"many files":      "mkdir memory; cd memory; awk 'BEGIN { for (i = 1000; i <= 9999; i++) { f = i \"-01-01.md\"; print \"x\" > f; close(f) } }'",
		"odd names":       `mkdir memory; echo a > 'memory/a b.md'; echo b > "$(printf 'memory/new\nline.md')"; echo c > "$(printf 'memory/\377.md')"; echo e > 'memory/-rf.md'`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDen(t)
			if out, err := exec.Command("sh", "-c", "cd "+d.folder.dir+" && "+script).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			add(t, d.Memory, state.Semantic, "The key is in drawer seven.")
			for range 2 {
				if _, err := d.Sync(t.Context(), "!r", d.folder, nil, d.forget); err != nil && !errors.Is(err, ErrLarge) {
					t.Error(err)
				}
			}
			if !strings.Contains(d.read("MEMORY.md"), "drawer seven") || !strings.Contains(d.found("drawer"), "drawer seven") {
				t.Errorf("it is missing in %s and %s", d.read("MEMORY.md"), d.found("drawer"))
			}
			if notes := lines(t, d.Memory, "!r"); len(notes) > 10_000 || strings.Contains(fmt.Sprint(notes), "root:") {
				t.Errorf("%d notes", len(notes))
			}
		})
	}
}

// The bot's own daily logs have a bound.
func TestSyncRotatesLogs(t *testing.T) {
	d := newDen(t)
	for day := range 8 {
		d.edit(fmt.Sprintf("memory/2026-01-%02d.md", day+1), func(string) string { return strings.Repeat("x", 100<<10) + "\n" })
	}
	d.sync(nil)
	d.sync(nil)
	left, _ := filepath.Glob(d.path("memory/*"))
	if len(left) != 5 || filepath.Base(left[0]) != "2026-01-04.md" {
		t.Errorf("left are %v", left)
	}
}

// What was forgotten goes from every file of notes: as a note, as an entry of status.md that is cut, and, while the text is
// known, as any line.
func TestSyncStrips(t *testing.T) {
	d := newDen(t)
	long := "the walrus is called Emil. " + strings.Repeat("It eats fish. ", 200)
	d.edit("status.md", func(string) string {
		return workspace.StatusLines(noon, long, "Noted.") + workspace.StatusLines(noon, "count the doors", "Nine.")
	})
	d.edit("context.md", func(string) string { return "# Context\n\n- a long word about hunter2-hunter2 here\n- keep me\n" })
	d.sync(nil)
	if err := d.journal.Memory.KeepForgotten(t.Context(), "!r", workspace.StatusText(long)); err != nil {
		t.Fatal(err)
	}
	d.sync(nil)
	if got := d.read("status.md"); strings.Contains(got, "Emil") || !strings.Contains(got, "count the doors") {
		t.Errorf("status.md:\n%s", got)
	}
	d.sync(scrub.Without("HUNTER2-hunter2"))
	if got := d.read("context.md"); strings.Contains(got, "hunter2") || !strings.Contains(got, "keep me") {
		t.Errorf("context.md:\n%s", got)
	}
}
