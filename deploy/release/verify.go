package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

// signNamespace is the purpose that a signature on a release archive must name.
const signNamespace = "matrix-tui-release"

// key is a public key that releases must be signed with.
type key struct {
	dir     string // temporary files for the programs, removed by close
	signers string // ssh's list of allowed signers; os.DevNull for a GPG key
}

// openKey reads the file of UPDATE_KEY: an ssh public key, ssh's list of allowed signers, or an armored GPG key. No
// other key on this host counts.
func openKey(ctx context.Context, path string) (k *key, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, sentence.Newf(fmt.Errorf("read key: %w", err),
			"The file of UPDATE_KEY cannot be read: nothing is installed without it.")
	}
	text := strings.TrimSpace(string(data))
	k = &key{signers: os.DevNull}
	if k.dir, err = os.MkdirTemp("", "matrix-tui-key-*"); err != nil {
		return nil, fmt.Errorf("create folder for key: %w", err)
	}
	if strings.HasPrefix(text, "-----BEGIN PGP PUBLIC KEY BLOCK-----") {
		_, err = k.run(ctx, text, "gpg", "--batch", "--import")
	} else {
		k.signers = filepath.Join(k.dir, "signers")
		err = os.WriteFile(k.signers, []byte(allowedSigners(text)), 0o600)
	}
	if err != nil {
		k.close()
		if errors.Is(err, exec.ErrNotFound) {
			return nil, sentence.Newf(err,
				"The key in UPDATE_KEY is a GPG key, and this host has no gpg: install the package gpg.")
		}
		return nil, sentence.Newf(fmt.Errorf("import key: %w", err),
			"The file of UPDATE_KEY contains no usable key: it must be an ssh public key or an armored GPG key.")
	}
	return k, nil
}

func (k *key) close() { _ = os.RemoveAll(k.dir) }

// run runs a program that finds this key only.
func (k *key) run(ctx context.Context, stdin string, argv ...string) (string, error) {
	return program{limit: time.Minute, env: []string{"GNUPGHOME=" + k.dir}, stdin: stdin}.run(ctx, argv...)
}

// allowedSigners turns bare public keys into ssh's list of allowed signers; such a list is left unchanged.
func allowedSigners(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text + "\n") {
		if kind, _, _ := strings.Cut(line, " "); strings.HasPrefix(kind, "ssh-") || strings.HasPrefix(kind, "ecdsa-") ||
			strings.HasPrefix(kind, "sk-") {
			out.WriteString("release ")
		}
		out.WriteString(line)
	}
	return out.String()
}

// checkGit verifies the signature on a tag, or on a commit that was asked for by its ID. A branch or a tag without a
// signature of its own would let the source choose among all commits that were ever signed. The signature covers the
// tag's own name; the name under which the source serves it says nothing.
func (k *key) checkGit(ctx context.Context, m *mirror, name, commit string) error {
	what, object, signed := "verify-commit", commit, ""
	if strings.HasPrefix(name, "refs/tags/") {
		signed, _ = m.git(ctx, "for-each-ref", "--format=%(tag)", name) // "" for a tag that is only a name
	}
	if signed != "" {
		what, object = "verify-tag", name
	}
	_, err := k.run(ctx, "", "git", "--git-dir", m.dir, "-c", "safe.directory=*", "-c",
		"gpg.ssh.allowedSignersFile="+k.signers, "-c", "gpg.ssh.program=ssh-keygen",
		"-c", "gpg.program=gpg", "-c", "gpg.x509.program=false", "-c", "gpg.minTrustLevel=undefined", what, object)
	switch {
	case err != nil:
		return failed(fmt.Errorf("verify %s: %w", object, err),
			"Release %s is not signed with the key in UPDATE_KEY: rejected.", Short(commit))
	case name != "" && signed == "":
		return sentence.Newf(fmt.Errorf("%s is not a signed tag", name),
			"`%s` is not a signed tag: rejected. With UPDATE_KEY I take signed tags, and signed commits by their ID.",
			filepath.Base(name))
	case name != "" && name != "refs/tags/"+signed:
		return sentence.Newf(fmt.Errorf("%s is the tag %q", name, signed),
			"UPDATE_SOURCE serves the signed tag `%s` under the name `%s`: rejected.", signed,
			strings.TrimPrefix(name, "refs/tags/"))
	}
	return nil
}

// checkFile verifies an ssh signature on a file.
func (k *key) checkFile(ctx context.Context, data, signature []byte) error {
	if k.signers == os.DevNull {
		return sentence.Newf(errors.New("not an ssh key"),
			"Release archives are signed with ssh keys, and the one in UPDATE_KEY is a GPG key.")
	}
	file := filepath.Join(k.dir, "signature")
	if err := os.WriteFile(file, signature, 0o600); err != nil {
		return fmt.Errorf("write signature: %w", err)
	}
	who, err := k.run(ctx, "", "ssh-keygen", "-Y", "find-principals", "-s", file, "-f", k.signers)
	if err == nil {
		who, _, _ = strings.Cut(strings.TrimSpace(who), "\n")
		_, err = k.run(ctx, string(data), "ssh-keygen", "-Y", "verify", "-f", k.signers, "-I", who, "-n", signNamespace, "-s",
			file)
	}
	if err != nil {
		return failed(fmt.Errorf("verify archive: %w", err),
			"The release archive is not signed with the key in UPDATE_KEY: rejected.")
	}
	return nil
}
