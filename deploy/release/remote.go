package release

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

const (
	// archivePrefix before an address marks a folder of release archives.
	archivePrefix = "archive+"
	downloadTime  = 15 * time.Minute
	maxArchive    = 512 << 20
	maxSmall      = 64 << 10 // of a checksum, or a signature
)

// shelf is a folder of release archives, by HTTP or on this host.
type shelf struct{ address string }

var (
	latestLine   = regexp.MustCompile(`^matrix-tui-([0-9a-f]{12})\.tar\.gz\s*$`)
	checksumLine = regexp.MustCompile(`^([0-9a-f]{64})  (matrix-tui-[0-9a-f]{12}\.tar\.gz)\s*$`)
)

// isOpen reports whether a source is read over a network without encryption.
func isOpen(source string) bool {
	at, err := url.Parse(strings.TrimPrefix(source, archivePrefix))
	if err != nil || at.Scheme != "http" && at.Scheme != "git" && at.Scheme != "ftp" {
		return false
	}
	ip := net.ParseIP(at.Hostname())
	return at.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// find returns the requested commit: "" is the one that `latest` names.
func (s shelf) find(ctx context.Context, ref string) (string, error) {
	if len(ref) >= 12 && commitName.MatchString(Short(ref)) {
		return Short(ref), nil
	}
	if ref != "" {
		return "", sentence.Newf(fmt.Errorf("%q is not a commit", ref), "Release archives are named by their commits: name one, or none for the newest.")
	}
	text, err := s.small(ctx, latestFile)
	if err != nil {
		return "", err
	}
	found := latestLine.FindSubmatch(text)
	if found == nil {
		return "", sentence.Newf(errors.New("latest names no archive"), "The file `latest` at UPDATE_SOURCE names no release archive.")
	}
	return string(found[1]), nil
}

// take downloads a verified archive and unpacks it under its release's name.
func (s shelf) take(ctx context.Context, base Base, commit string, k *key) (err error) {
	if k == nil && base.Check(commit) == nil {
		return nil
	}
	name := archiveName(commit)
	sum, err := s.small(ctx, name+".sha256")
	if err != nil {
		return err
	}
	if k != nil {
		signature, err := s.small(ctx, name+".sha256.sig")
		if err != nil {
			return err
		}
		if err := k.checkFile(ctx, sum, signature); err != nil {
			return err
		}
		if base.Check(commit) == nil {
			return nil
		}
	}
	want := checksumLine.FindSubmatch(sum)
	if want == nil || string(want[2]) != name {
		return sentence.Newf(errors.New("no checksum of this archive"), "The checksum file of %s is invalid.", name)
	}
	made := base.path("releases", "."+commit+".new")
	packed := base.path("cache", name)
	defer func() { err = full(errors.Join(err, os.RemoveAll(made), os.RemoveAll(packed)), base) }()
	if err := errors.Join(os.RemoveAll(made), os.MkdirAll(filepath.Dir(packed), 0o700), os.MkdirAll(filepath.Dir(made), 0o755)); err != nil {
		return fmt.Errorf("start release %s: %w", commit, err)
	}
	if err := s.download(ctx, name, packed, string(want[1])); err != nil {
		return err
	}
	if err := unpackRelease(packed, made, commit); err != nil {
		return err
	}
	return base.keep(made, commit)
}

// unpackRelease unpacks an archive and checks that it contains a complete release.
func unpackRelease(packed, made, commit string) error {
	f, err := os.Open(packed)
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err == nil {
		err = untar(plain, made)
	}
	if err == nil {
		err = checkSums(made)
	}
	var info Info
	if err == nil {
		info, err = readInfo(made)
	}
	if err == nil && Short(info.Commit) != commit {
		err = fmt.Errorf("it contains release %s", Short(info.Commit))
	}
	if err != nil {
		return sentence.Newf(fmt.Errorf("unpack release %s: %w", commit, err), "The archive of release %s is incomplete: rejected.", commit)
	}
	return nil
}

// download writes a file from the shelf to path if its checksum is right.
func (s shelf) download(ctx context.Context, name, path, sum string) error {
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	from, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("save archive: %w", err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, h), io.LimitReader(from, maxArchive+1))
	if err := errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("download %s: %w", name, err)
	}
	if n > maxArchive || hex.EncodeToString(h.Sum(nil)) != sum {
		return sentence.Newf(fmt.Errorf("checksum of %s", name), "The archive %s does not match its checksum: rejected.", name)
	}
	return nil
}

// small reads a small file from the shelf.
func (s shelf) small(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	from, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(from, maxSmall)); err != nil {
		return nil, fmt.Errorf("download %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func (s shelf) open(ctx context.Context, name string) (io.ReadCloser, error) {
	missing := func(err error) error {
		return sentence.Newf(fmt.Errorf("get %s: %w", name, err), "There is no %s at UPDATE_SOURCE, or this host cannot reach it.", name)
	}
	if dir, ok := strings.CutPrefix(s.address, "file://"); ok {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, missing(err)
		}
		return f, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.address, "/")+"/"+name, nil)
	if err != nil {
		return nil, missing(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("answer %d", resp.StatusCode), resp.Body.Close())
	}
	if err != nil {
		return nil, missing(err)
	}
	return resp.Body, nil
}
