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

const maxKeyFile = 1 << 20

// key is a public key that releases must be signed with.
type key struct {
	dir     string // temporary files for the programs, removed by close
	signers string // ssh's list of allowed signers; "" for a GPG key
}

// openKey reads the file of UPDATE_KEY: an ssh public key, ssh's list of allowed signers, or an armored GPG key. No
// other key on this host counts.
func openKey(ctx context.Context, path string) (k *key, err error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxKeyFile {
		err = errors.New("it is too large for a key")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, sentence.Newf(fmt.Errorf("read key: %w", err), "The file of UPDATE_KEY cannot be read: nothing is installed without it.")
	}
	k = &key{}
	if k.dir, err = os.MkdirTemp("", "matrix-tui-key-*"); err != nil {
		return nil, fmt.Errorf("create folder for key: %w", err)
	}
	text := strings.TrimSpace(string(data))
	if strings.HasPrefix(text, "-----BEGIN PGP PUBLIC KEY BLOCK-----") {
		if _, err := exec.LookPath("gpg"); err != nil {
			k.close()
			return nil, sentence.Newf(err, "The key in UPDATE_KEY is a GPG key, and this host has no gpg: install the package gpg.")
		}
		_, err = program{limit: time.Minute, env: environ("GNUPGHOME=" + k.dir), stdin: strings.NewReader(text)}.run(ctx, "gpg", "--batch", "--import")
	} else {
		k.signers = filepath.Join(k.dir, "signers")
		err = os.WriteFile(k.signers, []byte(allowedSigners(text)), 0o600)
	}
	if err != nil {
		k.close()
		return nil, sentence.Newf(fmt.Errorf("import key: %w", err), "The file of UPDATE_KEY contains no usable key: it must be an ssh public key or an armored GPG key.")
	}
	return k, nil
}

func (k *key) close() { _ = os.RemoveAll(k.dir) }

// allowedSigners turns bare public keys into ssh's list of allowed signers; such a list is left unchanged.
func allowedSigners(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		kind, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(kind, "ssh-") || strings.HasPrefix(kind, "ecdsa-") || strings.HasPrefix(kind, "sk-") {
			line = "release " + line
		}
		out.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	return out.String()
}

// checkGit verifies the signature on a tag, or on a commit that was asked for by its ID. A branch or a tag without a
// signature of its own would let the source choose among all commits that were ever signed.
func (k *key) checkGit(ctx context.Context, m *mirror, name, commit string) error {
	what, object := "verify-commit", commit
	if strings.HasPrefix(name, "refs/tags/") {
		if kind, err := m.git(ctx, gitTime, "cat-file", "-t", name); err == nil && strings.TrimSpace(kind) == "tag" {
			what, object = "verify-tag", name
		}
	}
	signers := k.signers
	if signers == "" {
		signers = os.DevNull
	}
	p := program{dir: m.dir, limit: gitTime, env: environ("GNUPGHOME="+k.dir, "GIT_DIR="+m.dir)}
	_, err := p.run(ctx, "git", "-c", "safe.directory=*", "-c", "gpg.ssh.allowedSignersFile="+signers, "-c", "gpg.ssh.program=ssh-keygen",
		"-c", "gpg.program=gpg", "-c", "gpg.x509.program=false", "-c", "gpg.minTrustLevel=undefined", what, object)
	if err != nil {
		return sentence.Newf(fmt.Errorf("verify %s: %w", object, err), "Release %s is not signed with the key in UPDATE_KEY: rejected.", Short(commit)).With(linesOf(err))
	}
	if what != "verify-tag" && name != "" {
		return sentence.Newf(fmt.Errorf("%s is not a signed tag", name), "`%s` is not a signed tag: rejected. With UPDATE_KEY I take signed tags, and signed commits by their ID.", filepath.Base(name))
	}
	if what != "verify-tag" {
		return nil
	}
	// The signature covers the tag's own name. The name under which the source serves it says nothing.
	signed, err := m.git(ctx, gitTime, "for-each-ref", "--format=%(tag)", name)
	if err != nil {
		return fmt.Errorf("read tag %s: %w", name, err)
	}
	if signed = strings.TrimSpace(signed); "refs/tags/"+signed != name {
		return sentence.Newf(fmt.Errorf("%s is the tag %q", name, signed), "UPDATE_SOURCE serves the signed tag `%s` under the name `%s`: rejected.", signed, strings.TrimPrefix(name, "refs/tags/"))
	}
	return nil
}

// checkFile verifies an ssh signature on a file.
func (k *key) checkFile(ctx context.Context, data, signature []byte) error {
	if k.signers == "" {
		return sentence.Newf(errors.New("not an ssh key"), "Release archives are signed with ssh keys, and the one in UPDATE_KEY is a GPG key.")
	}
	file := filepath.Join(k.dir, "signature")
	if err := os.WriteFile(file, signature, 0o600); err != nil {
		return fmt.Errorf("write signature: %w", err)
	}
	who, err := program{limit: time.Minute}.run(ctx, "ssh-keygen", "-Y", "find-principals", "-s", file, "-f", k.signers)
	if err == nil {
		name, _, _ := strings.Cut(strings.TrimSpace(who), "\n")
		_, err = program{limit: time.Minute, stdin: strings.NewReader(string(data))}.run(ctx,
			"ssh-keygen", "-Y", "verify", "-f", k.signers, "-I", name, "-n", signNamespace, "-s", file)
	}
	if err != nil {
		return sentence.New(fmt.Errorf("verify archive: %w", err), "The release archive is not signed with the key in UPDATE_KEY: rejected.").With(linesOf(err))
	}
	return nil
}
