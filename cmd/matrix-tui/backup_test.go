package main

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

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state"
)

// keepMore adds to a state folder what a bot keeps beside its rooms, and what
// is the host's.
func keepMore(t *testing.T, dir string) {
	t.Helper()
	for _, sub := range []string{"transcripts", "gateway/0123", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"account.json": `{"homeserver":"http://x","user_id":"@bot:x","access_token":"` + hidden + `"}`, "crypto.key": "k\n", "recovery-key": "r\n",
		"policy.yaml": "defaults: {}\n", "pirate.md": "arr\n", ".env": "GEMINI_MODEL=m\n", "transcripts/sandbox-a.jsonl": "{}\n",
		"lock": "1\n", "update.json": "{}", ".bashrc": "x", "state.json.corrupt-1": "x", "tmp/x": "x", "old.tar.gz": "x",
	} {
		write(t, filepath.Join(dir, name), text)
	}
}

// members are the names in a backup.
func members(t *testing.T, file string) (names []string) {
	t.Helper()
	if err := eachMember(file, func(name string, _ int64, _ io.Reader) error { names = append(names, name); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestBackupAndRestore(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	store, _ := keepRooms(t, dir) // open all the while, as with a bot that runs
	keepMore(t, dir)
	file := filepath.Join(t.TempDir(), "one.tar.gz")
	if got := play(t, t.Context(), []string{"STATE_DIR=" + dir}, "backup", file); got.code != 0 || !strings.Contains(got.stdout, ", 9 files\n") || leaks(got.stdout) {
		t.Fatalf("%+v", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	if beside, _ := os.ReadDir(filepath.Dir(file)); len(beside) != 1 {
		t.Errorf("it leaves %v beside itself", beside)
	}
	want := []string{
		"manifest.json", "state/journal.db", "state/.env", "state/account.json", "state/crypto.key", "state/pirate.md", "state/policy.yaml",
		"state/recovery-key", "state/state.json", "state/transcripts/sandbox-a.jsonl", "SHA256SUMS",
	}
	if diff := cmp.Diff(want, members(t, file)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}

	got := play(t, t.Context(), []string{"STATE_DIR=" + to, "MATRIX_USER=@other:x"}, "restore", file)
	if got.code != 0 || !strings.Contains(got.stdout, "The state of @bot:x is in "+to) || !strings.Contains(got.stdout, "must not run any more") || !strings.Contains(got.stdout, "another account") {
		t.Fatalf("%+v", got)
	}
	there, err := state.ReadStore(to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(store.Containers(), there.Containers()); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	journal, err := state.ReadJournal(t.Context(), filepath.Join(to, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	if row, err := journal.LastTask(t.Context(), "!a:x"); err != nil || row.Event != "$3" {
		t.Errorf("last task %s: %v", row.Event, err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range must(os.ReadDir(to)) {
		if info := must(e.Info()); info.Mode().Perm()&0o077 != 0 || strings.HasPrefix(e.Name(), ".restore-") {
			t.Errorf("%s %v is there", info.Mode(), e.Name())
		}
	}

	// Again: only with -force, and what was there stays.
	write(t, filepath.Join(to, ".env"), "GEMINI_MODEL=of-this-host\n")
	if got := play(t, t.Context(), []string{"STATE_DIR=" + to}, "restore", file); got.code != 1 || !strings.Contains(got.stderr, "holds a bot's state already (account.json, ") {
		t.Errorf("%+v", got)
	}
	write(t, filepath.Join(to, "policy.yaml"), "# mine\n")
	if got := play(t, t.Context(), []string{"STATE_DIR=" + to}, "restore", "-force", file); got.code != 0 {
		t.Errorf("%+v", got)
	}
	aside := must(filepath.Glob(filepath.Join(to, "before-restore-*", "policy.yaml")))
	if len(aside) != 1 || string(must(os.ReadFile(aside[0]))) != "# mine\n" {
		t.Errorf("what was there is not in %v", aside)
	}
	if text := must(os.ReadFile(filepath.Join(to, ".env"))); !strings.Contains(string(text), "of-this-host") {
		t.Errorf("the host's settings were overwritten by %s", text)
	}

	// Not under a bot that runs.
	lock, err := state.Lock(to)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got := play(t, t.Context(), []string{"STATE_DIR=" + to}, "restore", "-force", file); got.code != 1 || !strings.Contains(got.stderr, "A bot already runs on "+to) {
		t.Errorf("%+v", got)
	}
}

// A backup goes through a pipe, from one host to the other.
func TestBackupInAPipe(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "state")
	keepRooms(t, dir)
	var said bytes.Buffer
	pipe := must(os.Create(filepath.Join(t.TempDir(), "pipe")))
	defer pipe.Close()
	a := &app{environ: []string{"STATE_DIR=" + dir}, dir: t.TempDir(), stdout: pipe, stderr: &said}
	if code := a.main(t.Context(), []string{"backup", "-"}); code != 0 || !strings.Contains(said.String(), "2 files") {
		t.Fatalf("code %d: %s", code, said.String())
	}
	if _, err := pipe.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	a = &app{environ: []string{"STATE_DIR=" + to}, dir: t.TempDir(), stdin: pipe, stdout: io.Discard, stderr: &said}
	if code := a.main(t.Context(), []string{"restore", "-"}); code != 0 {
		t.Fatalf("code %d: %s", code, said.String())
	}
	for folder, want := range map[string][]string{dir: {"journal.db", "journal.db-shm", "journal.db-wal", "state.json"}, to: {"journal.db", "lock", "state.json"}} {
		var names []string
		for _, e := range must(os.ReadDir(folder)) {
			names = append(names, e.Name())
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s holds (-want +got):\n%s", folder, diff)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestBackupOfNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar.gz")
	if got := play(t, t.Context(), []string{"STATE_DIR=" + dir}, "backup", file); got.code != 1 || !strings.Contains(got.stderr, "there is no bot's state in "+dir) {
		t.Errorf("%+v", got)
	}
	write(t, file, "not mine to overwrite")
	if got := play(t, t.Context(), []string{"STATE_DIR=" + dir}, "backup", file); got.code != 2 || !strings.Contains(got.stderr, "is there already") {
		t.Errorf("%+v", got)
	}
}

// repack writes a backup anew with each member changed, and its own sums where
// they are to be right.
func repack(t *testing.T, file string, rightSums bool, change func(h *tar.Header, data []byte) []byte) string {
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
		data := must(io.ReadAll(members))
		if h.Name == sumsName && rightSums {
			continue
		}
		data = change(h, data)
		h.Size = int64(len(data))
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if rightSums && h.Typeflag == tar.TypeReg {
			err = p.add(h.Name, h.Size, bytes.NewReader(data))
		} else if err = p.tar.WriteHeader(h); err == nil && h.Size > 0 {
			_, err = p.tar.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if rightSums {
		err := p.close()
		if err != nil {
			t.Fatal(err)
		}
	} else if err := errors.Join(p.tar.Close(), p.zip.Close()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Nothing is taken out of a backup that is not as it was written, or that holds
// what no backup does.
func TestRestoreRefuses(t *testing.T) {
	dir := t.TempDir()
	keepRooms(t, dir)
	keepMore(t, dir)
	file := filepath.Join(t.TempDir(), "one.tar.gz")
	if got := play(t, t.Context(), []string{"STATE_DIR=" + dir}, "backup", file); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	whole := must(os.ReadFile(file))
	cut := write(t, filepath.Join(t.TempDir(), "cut"), string(whole[:len(whole)-200]))
	flipped := slices.Clone(whole)
	flipped[len(flipped)/2] ^= 1
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
		"a bit":       {write(t, filepath.Join(t.TempDir(), "bit"), string(flipped)), "damaged"},
		"no archive":  {write(t, filepath.Join(t.TempDir(), "no"), "hello"), "is no backup of matrix-tui"},
		"missing":     {filepath.Join(dir, "none"), "no such file"},
		"a file more": {repack(t, file, false, renamed("state/pirate.md", "state/other.md")), "damaged"},
		"other text": {repack(t, file, false, func(h *tar.Header, d []byte) []byte {
			if h.Name == "state/policy.yaml" {
				return []byte("defaults: {reply: all}\n")
			}
			return d
		}), "damaged"},
		"outside":     {repack(t, file, true, renamed("state/pirate.md", "../../etc/passwd")), `holds "../../etc/passwd", which no backup`},
		"upwards":     {repack(t, file, true, renamed("state/pirate.md", "state/..")), "which no backup"},
		"twice":       {repack(t, file, true, renamed("state/pirate.md", "state/policy.yaml")), "damaged"},
		"no manifest": {repack(t, file, true, renamed("manifest.json", "state/manifest.json")), "damaged"},
		"a later one": {repack(t, file, true, func(h *tar.Header, d []byte) []byte {
			return bytes.Replace(d, []byte(`"format": 1`), []byte(`"format": 2`), 1)
		}), "made by a newer matrix-tui"},
		"a broken database": {repack(t, file, true, func(h *tar.Header, d []byte) []byte {
			if h.Name == "state/journal.db" {
				return d[:len(d)/2]
			}
			return d
		}), "journal.db"},
		"a link": {repack(t, file, false, func(h *tar.Header, d []byte) []byte {
			if h.Name == "state/pirate.md" {
				h.Typeflag, h.Linkname = tar.TypeSymlink, "/etc/passwd"
			}
			return d
		}), "which no backup"},
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "state")
			got := play(t, t.Context(), []string{"STATE_DIR=" + to}, "restore", c.file)
			if got.code == 0 || !strings.Contains(got.stderr, c.want) {
				t.Errorf("code %d: %s, want %q", got.code, got.stderr, c.want)
			}
			if entries, err := os.ReadDir(to); err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "lock" }) {
				t.Errorf("it leaves %v", entries)
			}
		})
	}
	if got := play(t, t.Context(), []string{"STATE_DIR=" + filepath.Join(t.TempDir(), "s")}, "restore", repack(t, file, true, same)); got.code != 0 {
		t.Errorf("what is right is refused too: %+v", got)
	}
}

// Whatever is given as a backup, nothing outside of a backup's names comes out
// of it, and what is taken for whole has a sum for each member.
func FuzzBackup(f *testing.F) {
	var whole bytes.Buffer
	p := newPacker(&whole)
	if err := errors.Join(p.add("manifest.json", 2, strings.NewReader("{}")), p.add("state/state.json", 2, strings.NewReader("{}")), p.close()); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:whole.Len()/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		file := write(t, filepath.Join(t.TempDir(), "x"), string(data))
		names, err := checkSums(file)
		for name := range names {
			if err != nil || !filepath.IsLocal(name) {
				t.Errorf("%q is in it: %v", name, err)
			}
		}
	})
}
