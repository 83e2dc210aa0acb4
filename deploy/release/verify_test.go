package release

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"matrix-tui/state/sentence"
)

// TestSignatures uses real git, GPG and ssh to sign tags and commits.
func TestSignatures(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	mustRun(t, repo, nil, "git", "init", "--quiet", "--initial-branch=main")
	ours, theirs := gpgKey(t, "ours"), gpgKey(t, "theirs")
	ssh := filepath.Join(t.TempDir(), "key")
	mustRun(t, repo, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ssh)
	sshKey, err := os.ReadFile(ssh + ".pub")
	check(t, err)

	withGPG := func(home string) []string {
		return []string{"-c", "gpg.format=openpgp", "-c", "user.signingkey=" + keyOf(t, home)}
	}
	withSSH := []string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + ssh}
	sign := func(home string, with []string, argv ...string) {
		mustRun(t, repo, []string{"GNUPGHOME=" + home}, append(append([]string{"git", "-c", "user.name=maker", "-c", "user.email=maker@localhost"}, with...), argv...)...)
	}
	commits := map[string]string{}
	for name, with := range map[string][]string{"ours": withGPG(ours), "theirs": withGPG(theirs), "ssh": withSSH, "none": {"-c", "commit.gpgsign=false"}} {
		home := map[string]string{"ours": ours, "theirs": theirs}[name]
		commit, tag := []string{"commit", "--quiet", "--allow-empty", "--message", name, "--gpg-sign"}, []string{"tag", "--message", name, "--sign", name}
		if name == "none" {
			commit, tag = commit[:5], []string{"tag", "--annotate", "--message", name, name}
		}
		sign(home, with, commit...)
		sign(home, with, tag...)
		commits[name] = strings.TrimSpace(mustRun(t, repo, nil, "git", "rev-parse", "HEAD"))
	}
	sign("", nil, "tag", "light", commits["ours"])
	sign("", nil, "tag", "ref", commits["none"])   // its full name begins like it
	for _, name := range []string{"ours", "ssh"} { // a source may serve a signed tag under any name
		mustRun(t, repo, nil, "git", "update-ref", "refs/tags/v9-"+name, strings.TrimSpace(mustRun(t, repo, nil, "git", "rev-parse", "refs/tags/"+name)))
	}

	base := Base(t.TempDir())
	m, err := openMirror(context.Background(), base, repo)
	check(t, err)
	if name, commit, err := m.find(context.Background(), "ref", true); err != nil || name != "refs/tags/ref" || commit != commits["none"] {
		t.Errorf("found %q, %s, %v", name, commit, err)
	}
	if name, commit, err := m.find(context.Background(), commits["none"], true); err != nil || name != "" || commit != commits["none"] {
		t.Errorf("found %q, %s, %v", name, commit, err)
	}
	armor := []byte(mustRun(t, repo, []string{"GNUPGHOME=" + ours}, "gpg", "--batch", "--armor", "--export"))
	for what, key := range map[string][]byte{"ours": armor, "ssh": sshKey} {
		file := filepath.Join(t.TempDir(), "update.key")
		check(t, os.WriteFile(file, key, 0o600))
		k, err := openKey(context.Background(), file)
		check(t, err)
		defer k.close()
		for name, commit := range commits {
			for _, ref := range []string{"refs/tags/" + name, "refs/heads/main", ""} {
				if err := k.checkGit(context.Background(), m, ref, commit); (err == nil) != (name == what && ref != "refs/heads/main") {
					t.Errorf("key %s, signed with %s, asked for as %q: %v", what, name, ref, err)
				}
			}
		}
		err = k.checkGit(context.Background(), m, "refs/tags/v9-"+what, commits[what])
		if want := "serves the signed tag `" + what + "` under the name `v9-" + what + "`"; !strings.Contains(sentence.Text(err), want) {
			t.Errorf("key %s, renamed tag: %v, want %q", what, err, want)
		}
		// The source decides where a branch or a lightweight tag is.
		for _, ref := range []string{"refs/tags/light", "refs/heads/main"} {
			if err := k.checkGit(context.Background(), m, ref, commits[what]); !strings.Contains(sentence.Text(err), "is not a signed tag: rejected") {
				t.Errorf("key %s, %s: %v", what, ref, err)
			}
		}
	}
}

// gpgKey creates a key without a passphrase in its own folder.
func gpgKey(t *testing.T, name string) (home string) {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "gpg-") // short: it contains the agent's socket
	check(t, err)
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() // the agent also ends when its folder is removed
		check(t, os.RemoveAll(home))
	})
	mustRun(t, home, []string{"GNUPGHOME=" + home}, "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", name+" <"+name+"@localhost>", "ed25519", "sign", "never")
	return home
}

// keyOf returns the fingerprint of the folder's only key.
func keyOf(t *testing.T, home string) string {
	t.Helper()
	for line := range strings.Lines(mustRun(t, home, []string{"GNUPGHOME=" + home}, "gpg", "--batch", "--with-colons", "--list-secret-keys")) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			return fields[9]
		}
	}
	t.Fatal("gpg made no key")
	return ""
}

// mustRun runs a program in dir and returns its output.
func mustRun(t *testing.T, dir string, set []string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(set, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, errs.String())
	}
	return out.String()
}
