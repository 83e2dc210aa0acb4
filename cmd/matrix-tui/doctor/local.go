package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"matrix-tui/bot/api"
	"matrix-tui/bot/policy"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/sentence"
)

// checkPolicy checks the policy file in the state folder, which is optional.
func checkPolicy(dir string) Finding {
	path := filepath.Join(dir, "policy.yaml")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return good("policy %s does not exist, which is fine: MATRIX_ALLOW says who may use the bot, and these "+
			"commands need approval: %s", path, strings.Join(policy.DefaultApprovals, ", "))
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	var data []byte
	if err == nil {
		data, err = readPolicy(path)
	}
	var p *policy.Policy
	if err == nil {
		p, err = policy.Parse(data)
	}
	if err != nil {
		return bad("policy %s is invalid (%v): fix or remove it; until then a running bot keeps the last valid policy, and "+
			"a bot that starts obeys only its owners", path, settings.Reason(err))
	}
	if names := p.Misnamed(); len(names) > 0 {
		return bad("policy %s: no room has the ID %s, so what it says there has no effect: the IDs of rooms of version 12 "+
			"have no server, remove the colon and what follows", path, strings.Join(names, ", "))
	}
	return good("policy %s", path)
}

func readPolicy(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return settings.ReadAtMost(f, policy.MaxFile)
}

// checkAPI asks the bot at API_LISTEN for its health. If nothing listens there, it
// checks that the bot could.
func checkAPI(ctx context.Context, cfg *settings.Config) Finding {
	address := string(cfg.APIListen) // 0.0.0.0 and [::] lead to this host, too
	if strings.HasSuffix(address, ":0") {
		return skipped("HTTP API: API_LISTEN is %s, so the port is chosen at each start; see the log", cfg.APIListen)
	}
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	status, err := cli.Ask(ctx, cli.Request{URL: "http://" + address + "/healthz"}, &answer)
	switch {
	case err == nil && status == http.StatusOK && answer.Status == "ok":
		return good("HTTP API at %s: the bot is healthy", address)
	case err == nil && status == http.StatusServiceUnavailable && answer.Error != "":
		return bad("HTTP API at %s: the bot is unhealthy (%s)", address, answer.Error)
	case err == nil:
		return bad("HTTP API: a program other than the bot answers at %s (%d for /healthz): stop it, or choose another "+
			"port for API_LISTEN", address, status)
	}
	return silent(ctx, "HTTP API", "API_LISTEN", address, err)
}

// checkPage asks the bot at WEB_LISTEN for a part of its page. If nothing listens there, it checks that the bot could.
func checkPage(ctx context.Context, cfg *settings.Config) Finding {
	address := string(cfg.WebListen)
	switch {
	case address == "":
		return skipped("page: WEB_URL is set but WEB_LISTEN is not, so there is no page: set WEB_LISTEN, or remove WEB_URL")
	case strings.HasSuffix(address, ":0"):
		return skipped("page: WEB_LISTEN is %s, so the port is chosen at each start; see the log", address)
	case address == string(cfg.APIListen):
		return bad("page: WEB_LISTEN and API_LISTEN are both %s, so the bot does not start: choose another port for one of "+
			"them", address)
	}
	status, err := cli.Ask(ctx, cli.Request{URL: "http://" + address + "/static/icon.svg"}, nil)
	switch {
	case err != nil:
		return silent(ctx, "page", "WEB_LISTEN", address, err)
	case status != http.StatusOK:
		return bad("page: a program other than the bot answers at %s (%d for /static/icon.svg): stop it, or choose another "+
			"port for WEB_LISTEN", address, status)
	}
	return good("page at %s, for browsers %s", address, cmp.Or(string(cfg.WebURL), "http://"+address))
}

// silent is the finding about an address of a setting at which nothing answers, because of err.
func silent(ctx context.Context, what, setting, address string, err error) Finding {
	listener, taken := api.Listen(ctx, setting, address)
	if taken != nil {
		return bad("%s at %s does not answer (%v): %s", what, address, err, sentence.Text(taken))
	}
	_ = listener.Close()
	return skipped("%s: nothing listens at %s because the bot is not running", what, address)
}
