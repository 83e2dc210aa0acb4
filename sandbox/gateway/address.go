package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"code.dny.dev/ssrf"
)

// errNotPublic is also what a container hears of a name that does not exist: it must
// not learn which names and addresses the host's own network knows.
var errNotPublic = errors.New("the host is not a public one, or does not exist")

// registry denies the ranges of IANA's special-purpose address registries, unassigned ranges, and the address of
// Azure's metadata service, which looks public.
var registry = ssrf.New(ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// plain returns the IPv4 address that an address embeds (mapped, NAT64), or else the address itself: every rule judges
// where a connection really goes.
func plain(a netip.Addr) netip.Addr {
	if a = a.Unmap(); nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:16]))
	}
	return a
}

// public reports whether an address is on the public internet.
func public(a netip.Addr) bool {
	return a.IsValid() && a.Zone() == "" && registry.SafeAddr(plain(a)) == nil
}

// foreign reports whether an address is public and in none of the networks that this
// host is on: its neighbours may trust it, and no firewall stands between us and what
// listens here.
func foreign(a netip.Addr) bool {
	if !public(a) {
		return false
	}
	own, err := net.InterfaceAddrs()
	return err == nil && !within(a, own)
}

// within reports whether an address is in one of the networks.
func within(a netip.Addr, networks []net.Addr) bool {
	for _, o := range networks {
		if n, ok := o.(*net.IPNet); ok && (n.Contains(a.AsSlice()) || n.Contains(plain(a).AsSlice())) {
			return true
		}
	}
	return false
}

// allowed reports whether the proxy may connect to an address and a port.
func (c *Config) allowed(to netip.AddrPort) bool {
	for _, denied := range c.Deny {
		if denied.Contains(to.Addr()) || denied.Contains(plain(to.Addr())) {
			return false
		}
	}
	return c.reachable(to.Addr())
}

// allowed is Config.allowed without this host's own public address and those of Avoid.
func (g *Gateway) allowed(to netip.AddrPort) bool {
	for i := range g.own {
		if own := g.own[i].Load(); own != nil && plain(to.Addr()) == *own {
			return false
		}
	}
	return !g.nodes.has(plain(to.Addr())) && g.cfg.allowed(to)
}

// maxNodes bounds the addresses of nodes.
const maxNodes = 10_000

// nodes are addresses of machines that are to be out of reach.
type nodes struct {
	mu sync.Mutex
	of map[netip.Addr]bool
}

func (n *nodes) has(address netip.Addr) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of[address]
}

// Avoid closes an address, for example of a machine of the cluster in which rooms' pods run: it may be public, and
// what listens there may trust the bot.
func (g *Gateway) Avoid(address netip.Addr) {
	g.nodes.mu.Lock()
	defer g.nodes.mu.Unlock()
	if g.nodes.of == nil || len(g.nodes.of) >= maxNodes { // those that are still used are named again
		g.nodes.of = make(map[netip.Addr]bool)
	}
	g.nodes.of[plain(address)] = true
}

// Own closes a public address that leads to this host although no interface has it, as behind 1:1 NAT. It replaces the
// one before of its family, and reports whether that was another one. Addresses that are not public are closed anyway.
func (g *Gateway) Own(address netip.Addr) (changed bool) {
	own, family := plain(address), 0
	if !public(own) {
		return false
	}
	if own.Is6() {
		family = 1
	}
	before := g.own[family].Swap(&own)
	return before == nil || *before != own
}

// BehindNAT reports whether no interface of this host has a public IPv4 address. One may lead to it all the same.
func BehindNAT() bool {
	own, err := net.InterfaceAddrs()
	return err == nil && !slices.ContainsFunc(own, func(a net.Addr) bool {
		network, err := netip.ParsePrefix(a.String())
		return err == nil && network.Addr().Is4() && public(network.Addr())
	})
}

// control is asked by the dialer about each address a name turned out to be, so that what is judged is what is
// dialled.
func (g *Gateway) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !g.allowed(ap) {
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
// with one of the allowed ports, or with the scheme's default port (port 0 = a port is
// required).
func (c *Config) target(authority string, port uint16) (string, error) {
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
	if !slices.Contains(c.Ports, uint16(n)) {
		return "", bad(fmt.Sprintf("port %d is not allowed here; allowed: %s (SANDBOX_PORTS)", n,
			strings.Trim(fmt.Sprint(c.Ports), "[]")))
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
