package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"matrix-tui/bot/api"
	"matrix-tui/bot/policy"
	"matrix-tui/state/sentence"
)

// checkPolicy looks at the policy file of the state folder, which need not be
// there.
func checkPolicy(dir string) finding {
	path := filepath.Join(dir, "policy.yaml")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return good("policy %s is not there, and need not be: MATRIX_ALLOW says who may talk, and these commands need a yes: %s", path, strings.Join(policy.DefaultApprovals, ", "))
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	var data []byte
	if err == nil {
		data, err = readPolicy(path)
	}
	if err == nil {
		_, err = policy.Parse(data)
	}
	if err != nil {
		return bad("policy %s is not right (%v): mend or remove it; until then a bot that runs keeps the policy it had, and one that starts takes the defaults", path, reason(err))
	}
	return good("policy %s", path)
}

func readPolicy(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, policy.MaxFile)
}

// checkAPI asks whoever listens at API_LISTEN how the bot is. Where nobody
// does, it looks whether the bot could.
func checkAPI(ctx context.Context, cfg *Config) finding {
	address := nearAddress(string(cfg.APIListen))
	if address == "" {
		return skipped("HTTP interface: API_LISTEN is %s, a port that is chosen at each start; the log says which", cfg.APIListen)
	}
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	status, err := ask(ctx, request{url: "http://" + address + "/healthz"}, &answer)
	switch {
	case err == nil && status == http.StatusOK && answer.Status == "ok":
		return good("HTTP interface at %s: the bot is well", address)
	case err == nil && status == http.StatusServiceUnavailable && answer.Error != "":
		return bad("HTTP interface at %s: the bot is not well (%s)", address, answer.Error)
	case err == nil:
		return bad("HTTP interface: another program than the bot answers at %s (%d to /healthz): stop that, or choose another port for API_LISTEN", address, status)
	}
	listener, taken := api.Listen(ctx, string(cfg.APIListen))
	if taken != nil {
		return bad("HTTP interface at %s does not answer (%v): %s", address, err, sentence.Text(taken))
	}
	_ = listener.Close()
	return skipped("HTTP interface: nobody listens at %s, for the bot does not run", address)
}

// nearAddress is where to reach what listens on an address, from this host; ""
// for a port that is not known before.
func nearAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return ""
	}
	switch ip := net.ParseIP(host); {
	case ip == nil || !ip.IsUnspecified():
	case ip.To4() != nil:
		host = "127.0.0.1"
	default:
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}
