package recall

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox"
	"matrix-tui/sandbox/sandboxtest"
	"matrix-tui/state/memory"
)

// den is a room with a container.
type den struct {
	*Memory
	t         *testing.T
	room      string
	container *sandbox.Container
	logged    bytes.Buffer
}

func newDen(t *testing.T, name string) *den {
	t.Helper()
	podman, image := sandboxtest.Connect(t, zerolog.Nop())
	d := &den{t: t, Memory: newMemory(t), room: sandboxtest.Room(name)}
	d.Memory.log = zerolog.New(&d.logged)
	d.filesTime, d.readFilesTime = 5*time.Minute, 5*time.Minute // on a slow host, what is left is for the next task
	d.container = sandboxtest.Ensure(t, podman, sandbox.Spec{Room: d.room, Image: image, Version: "test"})
	return d
}

// sh runs a script in /workspace and returns what it prints.
func (d *den) sh(script string) string {
	d.t.Helper()
	res, err := d.container.Exec(d.t.Context(), sandbox.Cmd{Argv: []string{"sh", "-ec", script}, MaxOutput: 4 << 20})
	if err != nil || res.Code != 0 {
		d.t.Fatalf("%s: %v, %d, %s", script, err, res.Code, res.Stderr)
	}
	return string(res.Stdout)
}

func (d *den) sync() {
	d.t.Helper()
	defer func(began time.Time) { d.t.Logf("sync took %v", time.Since(began).Round(time.Millisecond)) }(time.Now())
	if err := d.Sync(d.t.Context(), d.room, d.container); err != nil {
		d.t.Fatal(err)
	}
}

func (d *den) index(do func(*memory.Index) error) {
	d.t.Helper()
	if err := d.with(d.t.Context(), d.room, do); err != nil {
		d.t.Fatal(err)
	}
}

// teach stores lines of daily logs, of a kilobyte each.
func (d *den) teach(days, lines int) {
	d.t.Helper()
	var all []memory.Line
	for day := range days {
		for i := range lines {
			path := fmt.Sprintf("memory/2026-01-%02d.md", day+1)
			text := fmt.Sprintf("12:00:00 alice: task number %d of day %d %s → Done (1.0s)", i, day+1, strings.Repeat("x", 950))
			if i == 7 {
				text = fmt.Sprintf("13:00:00 alice: paint walrus%d → Painted (9.0s, 5 steps; changed walrus.txt)", day+1)
			}
			all = append(all, memory.Line{Event: fmt.Sprintf("$%d.%d", day+1, i), Path: path, Text: text})
		}
	}
	d.index(func(x *memory.Index) error {
		_, err := x.Learn(d.t.Context(), nil, all)
		return err
	})
}

func (d *den) search(query string) (all string) {
	d.t.Helper()
	d.index(func(x *memory.Index) error {
		hits, err := x.Search(d.t.Context(), memory.Query{Text: query})
		for _, h := range hits {
			all += h.Path + ": " + h.Text + "\n"
		}
		return err
	})
	return all
}

// When the files are more than a megabyte, the oldest daily logs are folded into MEMORY.md, unless somebody has
// changed them. The index keeps what they said.
func TestSyncFoldsOldLogs(t *testing.T) {
	d := newDen(t, "fold")
	d.teach(10, 120)
	d.sync()
	if n := strings.Count(d.sh("ls memory"), "\n"); n != 10 {
		t.Fatalf("%d daily logs", n)
	}
	d.sh("echo '- mine' >> memory/2026-01-01.md; sed -i 4d memory/2026-01-02.md")
	d.sync()
	if got := d.sh("ls memory"); !strings.HasPrefix(got, "2026-01-01.md\n2026-01-02.md\n2026-01-05.md\n") {
		t.Errorf("left are %s", got)
	}
	main := d.sh("cat MEMORY.md")
	want := "\n## Earlier\n\n- 2026-01-03: 120 tasks; "
	if !strings.Contains(main, want) || strings.Count(main, "\n- ") != 2 || !strings.Contains(main, "; paint walrus3") || len(main) > 1000 {
		t.Errorf("MEMORY.md:\n%s", main)
	}
	if got := d.search("walrus3"); !strings.Contains(got, "earlier/2026-01-03.md: ") || !strings.Contains(got, "Painted") || strings.Contains(got, "memory/2026-01-03.md: ") {
		t.Errorf("found %s", got)
	}
	if k := d.Find(t.Context(), d.room, "", "the walrus3"); !strings.Contains(strings.Join(k.Retrieved, "\n"), "the daily log 2026-01-03.md (2026-01-03): ") {
		t.Errorf("known: %q", k.Retrieved)
	}

	// What was folded can be forgotten, and follows a redaction.
	d.Redact(t.Context(), d.room, "$3.7")
	d.sync()
	if got := d.search("walrus3") + d.sh("cat MEMORY.md memory/*"); strings.Contains(got, "walrus3") {
		t.Error("a redacted message is still there")
	}
	d.sync()
	if got := d.sh("cat MEMORY.md; ls memory"); !strings.Contains(got, "2026-01-04: 120 tasks") || !strings.Contains(got, "2026-01-05.md") {
		t.Errorf("the files have changed: %s", got)
	}

	// Building the index again, as after damage, keeps it.
	d.index(func(x *memory.Index) error { return x.Rebuild(t.Context()) })
	if got := d.search("walrus4"); !strings.Contains(got, "earlier/2026-01-04.md: ") {
		t.Errorf("after a rebuild: %s", got)
	}
}

// A crash between any two steps of folding loses nothing and doubles nothing.
func TestSyncFoldsAfterCrash(t *testing.T) {
	d := newDen(t, "crash")
	d.teach(9, 122)
	d.sync()
	text := d.sh("cat memory/2026-01-01.md")
	d.index(func(x *memory.Index) error { // as far as the first step
		written, err := x.Written(t.Context(), "memory/2026-01-01.md")
		if err != nil {
			return err
		}
		line, event := dayLine("2026-01-01", written)
		return x.Fold(t.Context(), "memory/2026-01-01.md", text, memory.Line{Event: event, Path: mainFile, Section: "Earlier", Text: line})
	})
	d.sync()
	d.sh("test ! -e memory/2026-01-01.md")
	if err := d.container.WriteFile(t.Context(), "/workspace/memory/2026-01-01.md", []byte(text)); err != nil {
		t.Fatal(err)
	}
	d.sync() // a file that nobody knows any more is somebody's
	if got := d.sh("grep -c 2026-01-01 MEMORY.md; ls memory"); !strings.HasPrefix(got, "1\n2026-01-01.md\n2026-01-03.md\n") {
		t.Error(got)
	}
}

// A file of a person that is as large as its share stays as it is; what is new waits, which the log says once.
func TestSyncLeavesLargeFile(t *testing.T) {
	d := newDen(t, "large")
	d.sh("mkdir -p memory; { echo '# Mine'; yes 'a line of mine' | head -c 600000; } > MEMORY.md; cp MEMORY.md copy")
	one := task(1, 0, "remember that the key is in drawer seven", "Noted.")
	one.Room = d.room
	learn(t, d.Memory, one)
	d.sync()
	d.sync()
	d.sh("cmp MEMORY.md copy; grep -q 'drawer seven' memory/*.md")
	if n := strings.Count(d.logged.String(), "is too large"); n != 1 {
		t.Errorf("logged %d times: %s", n, d.logged.String())
	}
	if got := d.search("drawer"); !strings.Contains(got, "drawer seven") {
		t.Errorf("found %s", got)
	}
	d.sh("echo '# Mine' > MEMORY.md")
	d.sync()
	d.sh("grep -q 'drawer seven' MEMORY.md")
}

// Whatever an agent leaves in its workspace, Sync takes bounded time and does its work.
func TestSyncInHostileWorkspace(t *testing.T) {
	for name, script := range map[string]string{
		"links and pipes": "mkdir memory; ln -s /etc/passwd MEMORY.md; ln -s /dev/zero context.md; mkfifo status.md memory/p.md; ln -s / memory/l.md; mkdir memory/d.md",
		"a linked folder": "mkdir real; yes walrus | head -c 5000 > real/2026-01-01.md; ln -s real memory",
		"a gigabyte":      "truncate -s 1G MEMORY.md; mkdir memory; for i in $(seq 1 900); do truncate -s 1M memory/$i.md; done; truncate -s 1G memory/2026-01-01.md context.md",
		"many files":      "mkdir memory; cd memory; awk 'BEGIN { for (i = 1; i <= 100000; i++) { f = i \".md\"; print \"x\" > f; close(f) } }'",
		"odd names":       `mkdir memory; echo a > 'memory/a b.md'; echo b > "$(printf 'memory/new\nline.md')"; echo c > "$(printf 'memory/\377.md')"; echo d > memory/.md; echo e > 'memory/-rf.md'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDen(t, "hostile")
			d.filesTime, d.readFilesTime = filesTime, readFilesTime
			d.sh(script)
			one := task(1, 0, "remember that the key is in drawer seven", "Noted.")
			one.Room = d.room
			learn(t, d.Memory, one)
			for range 2 {
				began := time.Now()
				d.sync()
				if took := time.Since(began); took > filesTime {
					t.Errorf("it took %v", took)
				}
			}
			if got := d.search("drawer"); !strings.Contains(got, "drawer seven") {
				t.Errorf("found %s", got)
			}
			var s memory.Status
			d.index(func(x *memory.Index) (err error) {
				s, err = x.Status(t.Context())
				return err
			})
			if s.Bytes > 20<<20 || s.Documents > maxLogs+10 {
				t.Errorf("the index has %d bytes and %d documents", s.Bytes, s.Documents)
			}
		})
	}
}

// interrupted is a container in which something happens while its files are written.
type interrupted struct {
	*sandbox.Container
	happens func()
}

func (c interrupted) WriteFile(ctx context.Context, path string, data []byte) error {
	c.happens()
	return c.Container.WriteFile(ctx, path, data)
}

// A message that is edited or deleted while the files are written leaves nothing behind.
func TestEditWhileSyncing(t *testing.T) {
	d := newDen(t, "edit-while-syncing")
	for i, text := range []string{"remember that my dog is called Rex", "remember that my cat is called Pixel"} {
		one := task(i+1, 0, text, "Noted.")
		one.Room = d.room
		learn(t, d.Memory, one)
	}
	done := make(chan struct{})
	happens := sync.OnceFunc(func() {
		go func() {
			defer close(done)
			d.Edit(t.Context(), d.room, Edit{"$1", "alice", "remember that my dog is called Bruno"})
			d.Redact(t.Context(), d.room, "$2")
		}()
		select {
		case <-done:
		case <-time.After(time.Second): // it waits for the files
		}
	})
	if err := d.Sync(t.Context(), d.room, interrupted{d.container, happens}); err != nil {
		t.Fatal(err)
	}
	<-done
	k := d.Find(t.Context(), d.room, "", "what are my cat and my dog called?")
	if all := fmt.Sprint(k.Commands, k.Preferences, k.Answers, k.Retrieved); strings.Contains(all, "Rex") || strings.Contains(all, "Pixel") || !strings.Contains(all, "Bruno") {
		t.Errorf("found %s", all)
	}
	d.sync()
	if all := d.sh("cat MEMORY.md memory/*"); strings.Contains(all, "Rex") || strings.Contains(all, "Pixel") || !strings.Contains(all, "Bruno") {
		t.Errorf("the files have %s", all)
	}
}
