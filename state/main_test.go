package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/state/sentence"
)

// Tests that kill start the test binary again as a child; this is what the child does.
const childJob = "MATRIX_TUI_STATE_CHILD"

func TestMain(m *testing.M) {
	if job, dir, ok := strings.Cut(os.Getenv(childJob), ":"); ok {
		if err := runChild(job, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// openStore opens the store in dir, with a journal of its own.
func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	j, s, err := Open(context.Background(), dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close() // the disk may be full or gone
		_ = j.Close()
	})
	return s
}

func historyOf(t testing.TB, s *Store, room string) []Turn {
	t.Helper()
	all, err := s.Conversations.History(ctx, room)
	if err != nil {
		t.Error(err)
	}
	return all
}

func openJournal(t testing.TB, path string) *Journal {
	t.Helper()
	j, err := OpenJournal(context.Background(), path, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func newJournal(t testing.TB) *Journal {
	t.Helper()
	return openJournal(t, filepath.Join(t.TempDir(), "journal.db"))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantSentence fails unless the error has a sentence that contains part.
func wantSentence(t testing.TB, err error, part string) {
	t.Helper()
	said, ok := sentence.Of(err)
	if !ok {
		t.Fatalf("error %v has no sentence", err)
	}
	if !strings.Contains(said, part) {
		t.Fatalf("sentence %q does not say %q", said, part)
	}
}

// smallDisk mounts a tmpfs of the given size for the test.
func smallDisk(t testing.TB, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		if os.Getenv("MATRIX_TUI_E2E") == "require" {
			t.Fatalf("mount tmpfs: %v", err)
		}
		t.Skipf("NOT TESTED: a small disk needs the right to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func setReadOnly(t testing.TB, dir string, readOnly bool) {
	t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if readOnly {
		flags |= syscall.MS_RDONLY
	}
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", flags, ""))
}

// fill uses up all space on a small disk, and returns a function that frees it.
func fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	file, err := os.Create(path)
	must(t, err)
	defer file.Close()
	for {
		if _, err := file.Write(make([]byte, 4096)); errors.Is(err, syscall.ENOSPC) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return func() { must(t, os.Remove(path)) }
}
