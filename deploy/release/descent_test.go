package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"matrix-tui/bot/update"
	"matrix-tui/state/sentence"
)

// A signed release of a branch that does not contain the running one is not newer, however many commits it has and
// whatever it is called.
func TestSideBranch(t *testing.T) {
	t.Parallel()
	repo, key := t.TempDir(), filepath.Join(t.TempDir(), "key")
	mustRun(t, repo, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	git := func(argv ...string) string {
		return strings.TrimSpace(mustRun(t, repo, nil, append([]string{"git", "-c", "user.name=maker", "-c", "user.email=maker@localhost", "-c", "gpg.format=ssh", "-c", "user.signingkey=" + key}, argv...)...))
	}
	commit := func(name string) string {
		git("commit", "--quiet", "--allow-empty", "--gpg-sign", "--message", name)
		return git("rev-parse", "HEAD")
	}
	git("init", "--quiet", "--initial-branch=main")
	first, running := commit("first"), commit("running")
	next := commit("next")
	git("checkout", "--quiet", "-b", "side", first)
	side := commit("x")
	for range 3 {
		side = commit("more")
	}
	git("tag", "--sign", "--message", "v9.0.0", "v9.0.0")

	base := Base(t.TempDir())
	plant(t, base, Short(running), 0)
	info := `{"commit":"` + running + `"}`
	check(t, os.WriteFile(filepath.Join(base.Dir(Short(running)), "release.json"), []byte(info), 0o644))
	check(t, writeSums(base.Dir(Short(running))))
	u := &Updater{Base: base, Running: Short(running), Source: repo, Key: key + ".pub"}
	for _, o := range []update.Order{{}, {Ref: "v9.0.0"}, {Ref: side}} {
		if _, err := u.fetch(t.Context(), o, nil, func(string) {}); err == nil || !strings.Contains(sentence.Text(err), "may be older than the running one") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	m, err := openMirror(t.Context(), base, repo)
	check(t, err)
	for to, want := range map[string]age{first: older, next: newer, side: unknown} {
		if got := m.age(t.Context(), to, running); got != want {
			t.Errorf("%s: age %q, want %q", to, got, want)
		}
	}
	if got := m.age(t.Context(), running, one+strings.Repeat("1", 28)); got != unknown {
		t.Errorf("of a release that the source has lost: age %q", got)
	}
}
