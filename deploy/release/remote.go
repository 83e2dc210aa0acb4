package release

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"matrix-tui/state/sentence"
)

const (
	// archivePrefix before an address marks a folder of release archives.
	archivePrefix = "archive+"
	downloadTime  = 15 * time.Minute
	maxArchive    = 128 << 20 // about five times what a release takes
	maxSmall      = 64 << 10  // of a checksum, or a signature
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
	return at.Hostname() != "localhost" && !net.ParseIP(at.Hostname()).IsLoopback()
}

// find returns the requested commit: "" is the one that `latest` names.
func (s shelf) find(ctx context.Context, ref string) (string, error) {
	if len(ref) >= 12 && commitName.MatchString(Short(ref)) {
		return Short(ref), nil
	}
	if ref != "" {
		return "", sentence.Newf(fmt.Errorf("%q is not a commit", ref),
			"Release archives are named by their commits: name one, or none for the newest.")
	}
	text, err := s.get(ctx, latestFile, maxSmall)
	if err != nil {
		return "", err
	}
	found := latestLine.FindSubmatch(text)
	if found == nil {
		return "", sentence.Newf(errors.New("latest names no archive"),
			"The file `latest` at UPDATE_SOURCE names no release archive.")
	}
	return string(found[1]), nil
}

// take downloads a verified archive and unpacks it under its release's name.
func (s shelf) take(ctx context.Context, base Base, commit string, k *key) error {
	name := archiveName(commit)
	sum, err := s.get(ctx, name+".sha256", maxSmall)
	if err == nil && k != nil {
		var signature []byte
		if signature, err = s.get(ctx, name+".sha256.sig", maxSmall); err == nil {
			err = k.checkFile(ctx, sum, signature)
		}
	}
	if err != nil || base.Check(commit) == nil {
		return err
	}
	want, ok := strings.CutSuffix(strings.TrimSpace(string(sum)), "  "+name)
	if !ok {
		return sentence.Newf(errors.New("no checksum of this archive"), "The checksum file of %s is invalid.", name)
	}
	packed, err := s.get(ctx, name, maxArchive)
	if err != nil {
		return err
	}
	if fmt.Sprintf("%x", sha256.Sum256(packed)) != want {
		return sentence.Newf(fmt.Errorf("checksum of %s", name), "The archive %s does not match its checksum: rejected.",
			name)
	}
	return base.keep(commit, func(into string) error { return unpackRelease(packed, into, commit) })
}

// get reads at most max bytes of a file of the shelf.
func (s shelf) get(ctx context.Context, name string, max int64) ([]byte, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.RegisterProtocol("file", http.NewFileTransport(http.Dir("/")))
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: downloadTime}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(string(s), "/")+"/"+name, nil)
	var resp *http.Response
	if err == nil {
		resp, err = client.Do(req)
	}
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			err = errors.New(resp.Status)
		}
	}
	if err != nil {
		return nil, sentence.Newf(fmt.Errorf("get %s: %w", name, err),
			"There is no %s at UPDATE_SOURCE, or this host cannot reach it.", name)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, max))
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", name, err)
	}
	return data, nil
}
