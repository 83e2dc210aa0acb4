package settings

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"matrix-tui/state/clean"
)

// pageConflicts finds out whether browsers can reach the page, and whether others could read what they send.
func pageConflicts(cfg *Config) []string {
	host, _, err := net.SplitHostPort(string(cfg.WebListen))
	if err != nil { // there is no page
		return nil
	}
	u, err := url.Parse(string(cfg.WebURL))
	switch {
	case cfg.WebURL == "" && !isLoopback(host):
		return []string{"WEB_LISTEN is set but WEB_URL is not; expected " + RightFor("WEB_URL")}
	case err != nil || u.Path != "" || u.Scheme == "http" && !(isLoopback(u.Hostname()) && isLoopback(host)):
		return []string{fmt.Sprintf("WEB_URL is %q; expected %s", clean.Short(string(cfg.WebURL), 80), RightFor("WEB_URL"))}
	case cfg.WebPreview != "" && (!previewDomain.MatchString(string(cfg.WebPreview)) ||
		strings.HasSuffix("."+strings.ToLower(u.Hostname()), "."+string(cfg.WebPreview))):
		return []string{fmt.Sprintf("WEB_PREVIEW is %q; expected %s", clean.Short(string(cfg.WebPreview), 80),
			RightFor("WEB_PREVIEW"))}
	}
	return nil
}

var previewDomain = regexp.MustCompile(`^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$`)

// PreviewDomain returns the domain in whose subdomains people see what runs in containers, "" if there is none. A page
// on this host has one without a setting: browsers take all names in localhost for this host.
func (c *Config) PreviewDomain(page *url.URL) string {
	if c.WebPreview == "" && isLoopback(page.Hostname()) {
		return "localhost"
	}
	return string(c.WebPreview)
}

// isLoopback reports whether a host is this one.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
