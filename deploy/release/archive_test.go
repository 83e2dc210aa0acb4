package release

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"matrix-tui/state/sentence"
)

// packed creates an archive of a release with a signed checksum, and returns its folder and the public key.
func packed(t *testing.T) (dir, key string) {
	t.Helper()
	from := Base(t.TempDir())
	plant(t, from, one, 0)
	info := `{"commit":"` + one + strings.Repeat("1", 28) + `","history":[{"commit":"` + one + strings.Repeat("1", 28) + `","subject":"newer"}]}`
	check(t, os.WriteFile(filepath.Join(from.Dir(one), "release.json"), []byte(info), 0o644))
	check(t, writeSums(from.Dir(one)))
	dir = t.TempDir()
	path, err := from.Archive(t.Context(), one, dir)
	check(t, err)
	key = filepath.Join(t.TempDir(), "key")
	for _, argv := range [][]string{
		{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key},
		{"ssh-keygen", "-q", "-Y", "sign", "-n", signNamespace, "-f", key, path + ".sha256"},
	} {
		if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	return dir, key + ".pub"
}

func TestArchive(t *testing.T) {
	dir, public := packed(t)
	other := filepath.Join(t.TempDir(), "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, tt := range map[string]struct {
		key   string
		spoil func(archive string)
		want  string // part of the sentence, "" = accepted
	}{
		"no key":          {},
		"the key":         {key: public},
		"another key":     {key: other + ".pub", want: "not signed with the key"},
		"no signature":    {key: public, spoil: func(a string) { os.Remove(a + ".sha256.sig") }, want: "There is no"},
		"another content": {spoil: func(a string) { os.WriteFile(a, []byte("x"), 0o644) }, want: "does not match its checksum"},
		"another sum": {key: public, spoil: func(a string) {
			os.WriteFile(a+".sha256", []byte(strings.Repeat("0", 64)+"  "+filepath.Base(a)+"\n"), 0o644)
		}, want: "not signed with the key"},
		"no archive": {spoil: func(a string) { os.Remove(a) }, want: "There is no"},
	} {
		t.Run(name, func(t *testing.T) {
			shelfDir := t.TempDir()
			check(t, os.CopyFS(shelfDir, os.DirFS(dir)))
			if tt.spoil != nil {
				tt.spoil(filepath.Join(shelfDir, archiveName(one)))
			}
			var k *key
			if tt.key != "" {
				var err error
				k, err = openKey(t.Context(), tt.key)
				check(t, err)
				defer k.close()
			}
			base, s := Base(t.TempDir()), shelf("file://"+shelfDir)
			check(t, os.Mkdir(base.path("cache"), 0o700))
			commit, err := s.find(t.Context(), "")
			check(t, err)
			err = s.take(t.Context(), base, commit, k)
			switch {
			case tt.want == "" && (err != nil || base.Check(one) != nil):
				t.Errorf("take: %v, check: %v", err, base.Check(one))
			case tt.want != "" && (err == nil || !strings.Contains(sentence.Text(err), tt.want)):
				t.Errorf("take: %v, want %q", err, tt.want)
			case tt.want != "" && base.Check(one) == nil:
				t.Error("it was installed despite the error")
			}
		})
	}
}

func TestUntarStaysInside(t *testing.T) {
	for name, h := range map[string]tar.Header{
		"above":    {Name: "../x", Typeflag: tar.TypeReg},
		"absolute": {Name: "/tmp/x", Typeflag: tar.TypeReg},
		"link":     {Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"device":   {Name: "x", Typeflag: tar.TypeChar},
		"huge":     {Name: "x", Typeflag: tar.TypeReg, Size: unpacked.Bytes + 1},
	} {
		var data bytes.Buffer
		w := tar.NewWriter(&data)
		check(t, w.WriteHeader(&h))
		dir := t.TempDir()
		check(t, os.Mkdir(filepath.Join(dir, "in"), 0o700))
		if err := untar(&data, filepath.Join(dir, "in")); err == nil {
			t.Errorf("%s: unpacked", name)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 1 {
			t.Errorf("%s: something was written next to the folder", name)
		}
	}
}

func FuzzUntar(f *testing.F) {
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	_ = w.WriteHeader(&tar.Header{Name: "a/b", Typeflag: tar.TypeReg, Size: 1, Mode: 0o755})
	_, _ = w.Write([]byte("x"))
	_ = w.Close()
	f.Add(data.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		check(t, os.Mkdir(filepath.Join(dir, "in"), 0o700))
		_ = untar(bytes.NewReader(data), filepath.Join(dir, "in"))
		if entries, _ := os.ReadDir(dir); len(entries) > 1 {
			t.Error("something was written next to the folder")
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"phase":"switched","from":"111111111111","to":"222222222222"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := parseRecord(data); err == nil && (strings.Contains(r.From+r.To, "/") || strings.Contains(r.From+r.To, "..")) {
			t.Errorf("a record points elsewhere: %q %q", r.From, r.To)
		}
	})
}
