package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"matrix-tui/cmd/matrix-tui/clitest"
)

// repack writes a backup again with each member changed.
func repack(t *testing.T, file string, change func(h *tar.Header, data []byte) []byte) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "changed.tar.gz")
	f := must(os.OpenFile(out, os.O_CREATE|os.O_WRONLY, 0o600))
	p := newPacker(f)
	in := must(os.Open(file))
	defer in.Close()
	members := tar.NewReader(must(gzip.NewReader(in)))
	for {
		h, err := members.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data := change(h, must(io.ReadAll(members)))
		h.Size = int64(len(data))
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err = p.tar.WriteHeader(h); err == nil && h.Size > 0 {
			_, err = p.tar.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(p.tar.Close(), p.zip.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

// Nothing is extracted from a backup that was changed, or that contains unexpected members.
func TestRestoreRefuses(t *testing.T) {
	dir := t.TempDir()
	clitest.KeepRooms(t, dir)
	clitest.KeepMore(t, dir)
	file := filepath.Join(t.TempDir(), "one.tar.gz")
	if got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + dir}, "backup", file); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	whole := must(os.ReadFile(file))
	cut := clitest.Write(t, filepath.Join(t.TempDir(), "cut"), string(whole[:len(whole)-200]))
	flipped, summed := slices.Clone(whole), slices.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	summed[len(summed)-8] ^= 1 // of gzip's checksum
	same := func(_ *tar.Header, data []byte) []byte { return data }
	renamed := func(from, to string) func(*tar.Header, []byte) []byte {
		return func(h *tar.Header, data []byte) []byte {
			if h.Name == from {
				h.Name = to
			}
			return data
		}
	}
	for name, c := range map[string]struct{ file, want string }{
		"cut":         {cut, "damaged"},
		"a bit":       {clitest.Write(t, filepath.Join(t.TempDir(), "bit"), string(flipped)), "damaged"},
		"a checksum":  {clitest.Write(t, filepath.Join(t.TempDir(), "sum"), string(summed)), "damaged"},
		"no archive":  {clitest.Write(t, filepath.Join(t.TempDir(), "no"), "hello"), "is not a matrix-tui backup"},
		"missing":     {filepath.Join(dir, "none"), "no such file"},
		"outside":     {repack(t, file, renamed("state/pirate.md", "../../etc/passwd")), `contains "../../etc/passwd", which does not belong in a matrix-tui backup`},
		"upwards":     {repack(t, file, renamed("state/pirate.md", "state/..")), "which does not belong in a matrix-tui backup"},
		"twice":       {repack(t, file, renamed("state/pirate.md", "state/policy.yaml")), "damaged"},
		"no manifest": {repack(t, file, renamed("manifest.json", "state/manifest.json")), "damaged"},
		"a newer format": {repack(t, file, func(h *tar.Header, d []byte) []byte {
			return bytes.Replace(d, []byte(`"format": 2`), []byte(`"format": 3`), 1)
		}), "made by a newer matrix-tui"},
		"a broken database": {repack(t, file, func(h *tar.Header, d []byte) []byte {
			if h.Name == "state/journal.db" {
				return d[:len(d)/2]
			}
			return d
		}), "journal.db"},
		"a link": {repack(t, file, func(h *tar.Header, d []byte) []byte {
			if h.Name == "state/pirate.md" {
				h.Typeflag, h.Linkname = tar.TypeSymlink, "/etc/passwd"
			}
			return d
		}), "which does not belong in a matrix-tui backup"},
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "state")
			got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + to}, "restore", c.file)
			if got.Code == 0 || !strings.Contains(got.Stderr, c.want) {
				t.Errorf("code %d: %s, want %q", got.Code, got.Stderr, c.want)
			}
			if entries, err := os.ReadDir(to); err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "lock" }) {
				t.Errorf("it leaves %v", entries)
			}
		})
	}
	older := func(h *tar.Header, d []byte) []byte {
		return bytes.Replace(d, []byte(`"format": 2`), []byte(`"format": 1`), 1)
	}
	for _, valid := range []string{repack(t, file, same), repack(t, file, older)} {
		if got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + filepath.Join(t.TempDir(), "s")}, "restore", valid); got.Code != 0 {
			t.Errorf("a valid backup is refused too: %+v", got)
		}
	}
}

// Whatever the backup contains, only valid names are extracted.
func FuzzBackup(f *testing.F) {
	var whole bytes.Buffer
	p := newPacker(&whole)
	const first = `{"format": 2}`
	err := errors.Join(p.add(manifestName, int64(len(first)), strings.NewReader(first)),
		p.add("state/state.json", 2, strings.NewReader("{}")), p.tar.Close(), p.zip.Close())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:whole.Len()/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		_, names, err := survey(clitest.Write(t, filepath.Join(t.TempDir(), "x"), string(data)))
		for name := range names {
			if err != nil || !filepath.IsLocal(name) {
				t.Errorf("%q is in it: %v", name, err)
			}
		}
	})
}

// A pipe that nothing came through is not taken for a damaged backup.
func TestRestoreNothing(t *testing.T) {
	got := clitest.Play(t, t.Context(), backupCommands, []string{"STATE_DIR=" + t.TempDir()}, "restore", "-")
	if got.Code != 1 || !strings.Contains(got.Stderr, "nothing came in on standard input") {
		t.Errorf("code %d, %s", got.Code, got.Stderr)
	}
}
