package web

import (
	"net/http"
	"strings"
)

// Bounds of the cookies of a program.
const (
	maxCookies = 50
	maxCookie  = 4 << 10 // bytes
)

// notForPrograms begin the names of headers by which proxies say who somebody is.
var notForPrograms = []string{"Cf-", "Proxy-", "Remote-", "X-Amzn-", "X-Auth-", "X-Authentik-", "X-Forwarded-",
	"X-Goog-", "X-Ms-", "X-Remote-", "X-Token-"}

// notForOthers begin the names of headers that act beyond a program's answer: on other hosts, or on a proxy.
var notForOthers = []string{"Alt-Svc", "Clear-Site-Data", "Nel", "Public-Key-Pins", "Report-To", "Reporting-Endpoints",
	"Strict-Transport-Security", "X-Accel-", "X-Lighttpd-", "X-Reproxy-", "X-Sendfile"}

// drop removes the headers whose names begin so.
func drop(header http.Header, prefixes []string) {
	for name := range header {
		for _, prefix := range prefixes {
			if strings.HasPrefix(http.CanonicalHeaderKey(name), prefix) {
				delete(header, name)
			}
		}
	}
}

// guardRequest leaves a program only what is meant for it: of the cookies those that it has set itself, with the value
// that it has set. Others come from the domain above, such as those of a proxy or of other sites.
func (o *preview) guardRequest(r *http.Request) {
	cookies := r.Cookies()
	r.Header.Del("Cookie")
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range cookies {
		if value, ok := o.jar[c.Name]; ok && value == c.Value {
			r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "basic") {
		r.Header.Del("Authorization") // a browser sends that to a proxy, too
	}
	drop(r.Header, notForPrograms)
}

// guardAnswer leaves of a program's answer what concerns its own host only. own is the preview's cookie.
func (o *preview) guardAnswer(header http.Header, own string) {
	lines := header["Set-Cookie"]
	header.Del("Set-Cookie")
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range lines {
		c, err := http.ParseSetCookie(line)
		if err != nil || c.Name == own || len(line) > maxCookie {
			continue
		}
		if _, known := o.jar[c.Name]; !known && len(o.jar) >= maxCookies {
			continue
		}
		if c.Domain, c.Unparsed = "", nil; c.MaxAge < 0 {
			delete(o.jar, c.Name)
		} else {
			o.jar[c.Name] = c.Value
		}
		header.Add("Set-Cookie", c.String())
	}
	drop(header, notForOthers)
	header.Set("X-Robots-Tag", "noindex")
	header.Set("Origin-Agent-Cluster", "?1")
}
