package bottest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clone clones the branch base of the shop's remote from a git server that the machine can reach, and returns the
// clone's folder.
func (m *machine) clone(ctx context.Context, s *suite) (string, error) {
	core, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return "", fmt.Errorf("find git's server: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	m.shop = &http.Server{Handler: &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + s.shop.remote, "GIT_HTTP_EXPORT_ALL=1"},
	}}
	go func() { _ = m.shop.Serve(listener) }() // until the machine's end closes it
	dir := filepath.Join(m.dir, "clone")
	err = git(ctx, m.dir, "-c", "http.proxy=", "clone", "--quiet", "--branch=base",
		fmt.Sprintf("http://%s/.git", listener.Addr()), dir)
	return dir, err
}

// trust gives the machine this host's certificate authorities, as an operator does behind a company's proxy: it
// downloads a compiler and modules itself.
func (m *machine) trust(ctx context.Context) error {
	authorities, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		return fmt.Errorf("read this host's authorities: %w", err)
	}
	_, errs, code, err := m.run(ctx, authorities, "sh", "-c",
		"mkdir -p /usr/local/share/ca-certificates; cat >/usr/local/share/ca-certificates/host.crt")
	if err != nil || code != 0 {
		return fmt.Errorf("write authorities: exit %d %w %s", code, err, errs)
	}
	return nil
}
