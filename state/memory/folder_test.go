package memory

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"MEMORY.md", "context.md", "status.md", "memory/2026-01-01.md", "memory/topic.md", "README.md", "memory/deep/x.md", "memory/x.txt"} {
		write(t, dir, name, "- about "+name+"\n")
	}
	docs, skipped, err := ReadFolder(dir)
	must(t, err)
	var names []string
	for _, doc := range docs {
		names = append(names, doc.Path)
	}
	if got := strings.Join(names, " "); got != "MEMORY.md context.md status.md memory/topic.md memory/2026-01-01.md" || len(skipped) > 0 {
		t.Errorf("read %s, skipped %v", got, skipped)
	}
}

// An agent may have put anything there.
func TestHostileFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret.md", "- a secret walrus\n")
	must(t, os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "MEMORY.md")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "context.md"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "status.md"), 0o700))
	write(t, dir, "memory/2026-01-03.md", "- bytes \xff\xfe\x00 and an otter\n")
	must(t, syscall.Mkfifo(filepath.Join(dir, "memory", "2026-01-02.md"), 0o600))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, "memory", "2026-01-01.md")))
	must(t, os.Symlink("2026-01-03.md", filepath.Join(dir, "memory", "loop.md")))
	write(t, dir, "memory/2026-01-04.md", "- begins well\n")
	must(t, os.Truncate(filepath.Join(dir, "memory", "2026-01-04.md"), 1<<30)) // 1 GiB of NUL
	begin := time.Now()
	docs, skipped, err := ReadFolder(dir)
	must(t, err)
	x := openIn(t, t.TempDir())
	for _, doc := range docs {
		_, err := x.Put(t.Context(), doc)
		must(t, err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(skipped) < 6 {
		t.Errorf("skipped only %q", skipped)
	}
	wantNothing(t, x, "walrus")
	wantFirst(t, x, "begins", "begins well")

	must(t, os.RemoveAll(filepath.Join(dir, "memory")))
	must(t, os.Symlink(outside, filepath.Join(dir, "memory")))
	if docs, _, err := ReadFolder(dir); err != nil || len(docs) > 0 {
		t.Errorf("read %v through a link: %v", docs, err)
	}
	if _, _, err := ReadFolder(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a missing folder was read")
	}
}

func TestFolderIsBounded(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "MEMORY.md", strings.Repeat("- a line of text\n", 20_000))
	write(t, dir, "memory/2026-01-01.md", strings.Repeat("- old\n", 100_000))
	write(t, dir, "memory/2026-01-02.md", strings.Repeat("- new\n", 100_000))
	docs, skipped, err := ReadFolder(dir)
	must(t, err)
	size := 0
	for _, doc := range docs {
		for _, e := range doc.Entries {
			size += len(e.Text) + 1
		}
	}
	if size > MaxFiles || len(docs) != 3 || len(skipped) != 1 || !strings.HasPrefix(skipped[0], "memory/2026-01-01.md") {
		t.Errorf("%d bytes of %d documents, skipped %q", size, len(docs), skipped)
	}
}
