package release

import (
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

// shelf is the address of a folder of release archives, https:// or file://.
type shelf string

var latestLine = regexp.MustCompile(`^matrix-tui-([0-9a-f]{12})\.tar\.gz\s*$`)

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
	found := latestLine.FindStringSubmatch(text)
	if found == nil {
		return "", sentence.Newf(errors.New("latest names no archive"), "The file `latest` at UPDATE_SOURCE names no release archive.")
	}
	return found[1], nil
}

// take downloads a verified archive and unpacks it under its release's name.
func (s shelf) take(ctx context.Context, base Base, commit string, k *key) (err error) {
	name := archiveName(commit)
	sum, err := s.small(ctx, name+".sha256")
	if err != nil {
		return err
	}
	if k != nil {
		signature, err := s.small(ctx, name+".sha256.sig")
		if err == nil {
			err = k.checkFile(ctx, sum, signature)
		}
		if err != nil {
			return err
		}
	}
	if base.Check(commit) == nil {
		return nil
	}
	want, ok := strings.CutSuffix(strings.TrimSpace(sum), "  "+name)
	if !ok {
		return sentence.Newf(errors.New("no checksum of this archive"), "The checksum file of %s is invalid.", name)
	}
	packed := base.path("cache", name)
	defer os.Remove(packed)
	if err := s.download(ctx, name, packed, want); err != nil {
		return full(err, base)
	}
	return base.keep(commit, func(into string) error { return unpackRelease(packed, into, commit) })
}

// download writes a file from the shelf to path if its checksum is right.
func (s shelf) download(ctx context.Context, name, path, sum string) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("save archive: %w", err)
	}
	h := sha256.New()
	err = s.read(ctx, name, maxArchive, io.MultiWriter(to, h))
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		return sentence.Newf(fmt.Errorf("checksum of %s", name), "The archive %s does not match its checksum: rejected.", name)
	}
	return nil
}

// small reads a small file from the shelf.
func (s shelf) small(ctx context.Context, name string) (string, error) {
	var out strings.Builder
	err := s.read(ctx, name, maxSmall, &out)
	return out.String(), err
}

// read copies at most max bytes of a file of the shelf.
func (s shelf) read(ctx context.Context, name string, max int64, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	transport.RegisterProtocol("file", http.NewFileTransport(http.Dir("/")))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(string(s), "/")+"/"+name, nil)
	if err != nil {
		return fmt.Errorf("get %s: %w", name, err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("answer %d", resp.StatusCode), resp.Body.Close())
	}
	if err != nil {
		return sentence.Newf(fmt.Errorf("get %s: %w", name, err), "There is no %s at UPDATE_SOURCE, or this host cannot reach it.", name)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(to, io.LimitReader(resp.Body, max)); err != nil {
		return fmt.Errorf("download %s: %w", name, err)
	}
	return nil
}
