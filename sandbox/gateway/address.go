package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

var errNotPublic = errors.New("only public addresses are allowed")

// registry denies the ranges of IANA's special-purpose address registries, unassigned ranges, and the address of
// Azure's metadata service, which looks public.
var registry = ssrf.New(ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// public reports whether an address is on the public internet. Addresses that embed an
// IPv4 address (mapped, NAT64) are judged by that address.
func public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	if a = a.Unmap(); nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:16]))
	}
	return registry.SafeAddr(a) == nil
}

// foreign is public, without the addresses of this host: no firewall protects this host's services from us.
func foreign(a netip.Addr) bool {
	if !public(a) {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, o := range own {
		if n, ok := o.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a.Unmap() {
				return false
			}
		}
	}
	return true
}

// control is called by the dialer with each address that a name resolves to, so that the address checked is the address
// dialled.
func (g *Gateway) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !g.cfg.reachable(ap.Addr()) {
		return errNotPublic
	}
	return nil
}

// targetError says in our own words what is wrong with the target of a container's request.
type targetError struct{ what string }

// Error may be shown to the container.
func (e *targetError) Error() string { return e.what }

func bad(what string) error { return &targetError{what} }

// target returns the address that a proxy request wants to reach, ready to dial: a host
// with a port, or with the scheme's default port (port 0 = a port is required).
func target(authority string, port uint16) (string, error) {
	host, p, err := net.SplitHostPort(authority)
	if err != nil {
		if port == 0 {
			return "", bad("host and port are required")
		}
		host, p = authority, strconv.Itoa(int(port))
		if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
			host = host[1 : len(host)-1]
		}
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 {
		return "", bad("the port is not a number from 1 to 65535")
	}
	if n == 25 {
		return "", fmt.Errorf("sending mail is not allowed: %w", errNotPublic)
	}
	if !isHost(host) {
		return "", bad("the host is neither a name nor an address")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// isHost accepts addresses without a zone, and names of letters, digits, dots, hyphens
// and underscores.
func isHost(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Zone() == ""
	}
	if s == "" || len(s) > 253 {
		return false
	}
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
