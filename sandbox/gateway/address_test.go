package gateway

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "151.101.0.223": true, "100.63.255.255": true, "100.128.0.1": true,
		"172.15.0.1": true, "172.32.0.1": true, "192.167.1.1": true, "11.0.0.1": true, "126.255.255.255": true,
		"2606:4700:4700::1111": true, "2a00:1450:4001:82a::200e": true, "2001:4860:4860::8888": true,

		"127.0.0.1": false, "127.255.255.254": false, "0.0.0.0": false, "0.1.2.3": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "169.254.170.2": false, // metadata of most clouds, and of ECS
		"100.64.0.1": false, "100.100.100.200": false, "100.127.255.255": false, // CGNAT; Alibaba's metadata
		"192.0.0.192": false, "168.63.129.16": false, // metadata of Oracle's and Microsoft's clouds
		"192.0.2.1": false, "198.51.100.7": false, "203.0.113.9": false, "192.88.99.1": false,
		"198.18.0.1": false, "198.19.255.255": false,
		"224.0.0.1": false, "239.255.255.255": false, "240.0.0.1": false, "255.255.255.255": false,

		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "2606:4700::1%eth0": false,
		"fc00::1": false, "fd00:ec2::254": false, "fd20:ce::254": false, // ULA, including AWS's and Google's metadata
		"ff02::1": false, "ff0e::1": false, "100::1": false, "4000::1": false, "5f00::1": false,
		"2001::1": false, "2001:10::1": false, "2001:db8::1": false, "3fff::1": false,

		// embedded IPv4 addresses
		"::ffff:8.8.8.8": true, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false,
		"64:ff9b::808:808": true, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::808:808": false,
		"2002:808:808::1": false, "2002:7f00:1::1": false, // 6to4 is deprecated (RFC 7526)
		"2002:c0a8:101::1": false, "2002:a00:1::": false,
		"::127.0.0.1": false, "::8.8.8.8": false, "::ffff:0:127.0.0.1": false,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("public(%s) = %v", addr, got)
		}
	}
	if public(netip.Addr{}) {
		t.Error("the invalid address is public")
	}
}

// The networks that the host is on are refused, be they public or not.
func TestForeign(t *testing.T) {
	if !foreign(netip.MustParseAddr("8.8.8.8")) {
		t.Error("8.8.8.8 is not foreign")
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range own {
		n := o.(*net.IPNet)
		ip, ok := netip.AddrFromSlice(n.IP)
		if ok && foreign(ip) {
			t.Errorf("%s is this host's and yet foreign", ip)
		}
		if last := netip.PrefixFrom(ip.Unmap(), ones(n)); foreign(last.Masked().Addr()) {
			t.Errorf("%s is a neighbour and yet foreign", last.Masked())
		}
	}
}

// An address that embeds one of a neighbour's leads to the neighbour.
func TestWithin(t *testing.T) {
	_, v4, _ := net.ParseCIDR("8.8.8.0/24")
	_, v6, _ := net.ParseCIDR("2606:4700::/64")
	for address, want := range map[string]bool{
		"8.8.8.8": true, "::ffff:8.8.8.8": true, "64:ff9b::808:808": true, "2606:4700::1": true,
		"8.8.4.4": false, "64:ff9b::808:404": false, "2606:4700:0:1::1": false, "64:ff9b:1::808:808": false,
	} {
		if got := within(netip.MustParseAddr(address), []net.Addr{v4, v6}); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func ones(n *net.IPNet) int {
	bits, _ := n.Mask.Size()
	return bits
}

func TestAllowed(t *testing.T) {
	c := New(Config{Dir: t.TempDir(), Deny: []netip.Prefix{netip.MustParsePrefix("8.8.8.0/24"), netip.MustParsePrefix("2606:4700::/32"), netip.MustParsePrefix("64:ff9b::900:0/104")}}).cfg
	for address, want := range map[string]bool{
		"8.8.8.8:443": false, "[::ffff:8.8.8.8]:443": false, "[64:ff9b::808:808]:443": false, "8.8.4.4:443": true, "[64:ff9b::808:404]:443": true, "[64:ff9b::909:909]:443": false, "9.9.9.9:443": true, "[2606:4700::1]:443": false, "[2001:4860:4860::8888]:443": true, "10.0.0.1:443": false,
	} {
		if got := c.allowed(netip.MustParseAddrPort(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// Behind 1:1 NAT, no interface has the host's public address.
func TestOwn(t *testing.T) {
	g := New(Config{Dir: t.TempDir()})
	if g.Own(netip.MustParseAddr("127.0.0.1")) {
		t.Error("takes an address that is not public")
	}
	for _, address := range []string{"8.8.4.4", "::ffff:8.8.8.8", "2001:4860:4860::1"} { // the first is replaced
		if a := netip.MustParseAddr(address); !g.Own(a) || g.Own(a) {
			t.Errorf("%s is not new, or is so twice", address)
		}
	}
	for address, closed := range map[string]bool{
		"8.8.8.8:80": true, "[::ffff:8.8.8.8]:443": true, "[64:ff9b::808:808]:443": true, "8.8.4.4:443": false, "8.8.8.9:443": false, "10.0.0.1:443": true,
		"[2001:4860:4860::1]:443": true, "[2001:4860:4860::2]:443": false,
	} {
		if err := g.control("tcp", address, nil); (err != nil) != closed {
			t.Errorf("%s: %v", address, err)
		}
		host := netip.MustParseAddrPort(address).Addr().String()
		if to, err := g.judge(t.Context(), net.JoinHostPort(host, "443")); (err != nil) != closed {
			t.Errorf("through a proxy, %s: %v, %v", address, to, err)
		}
	}
}

// The nodes of a cluster may have public addresses.
func TestAvoid(t *testing.T) {
	g := New(Config{Dir: t.TempDir()})
	check := func(want map[string]bool) {
		t.Helper()
		for address, closed := range want {
			if err := g.control("tcp", address, nil); (err != nil) != closed {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
	check(map[string]bool{"8.8.8.8:443": false, "[2001:4860:4860::1]:443": false})
	for _, address := range []string{"8.8.8.8", "::ffff:8.8.4.4", "2001:4860:4860::1", "10.0.0.1"} {
		g.Avoid(netip.MustParseAddr(address))
	}
	check(map[string]bool{"8.8.8.8:443": true, "[64:ff9b::808:808]:443": true, "8.8.4.4:80": true, "9.9.9.9:443": false,
		"[2001:4860:4860::1]:443": true, "[2001:4860:4860::2]:443": false})
	for i := range maxNodes {
		g.Avoid(netip.AddrFrom4([4]byte{9, 9, byte(i >> 8), byte(i)}))
	}
	if len(g.nodes.of) > maxNodes {
		t.Errorf("%d are kept", len(g.nodes.of))
	}
}

// Production configuration has no way around the rule.
func TestRuleIsTheDefault(t *testing.T) {
	g := New(Config{Dir: t.TempDir()})
	for addr, want := range map[string]bool{
		"127.0.0.1:80": false, "[::1]:443": false, "169.254.169.254:80": false, "[::ffff:10.0.0.1]:80": false,
		"8.8.8.8:443": true, "nonsense": false,
	} {
		if err := g.control("tcp", addr, nil); (err == nil) != want {
			t.Errorf("control(%s): %v", addr, err)
		}
	}
}

func TestTarget(t *testing.T) {
	cfg := Config{Ports: []uint16{80, 443, 8080}}
	for _, c := range []struct {
		authority string
		port      uint16
		want      string // "" = refused
	}{
		{"example.com:443", 0, "example.com:443"},
		{"example.com", 80, "example.com:80"},
		{"example.com:8080", 80, "example.com:8080"},
		{"[2606:4700::1]:443", 0, "[2606:4700::1]:443"},
		{"[2606:4700::1]", 80, "[2606:4700::1]:80"},
		{"2606:4700::1", 80, "[2606:4700::1]:80"},
		{"1.2.3.4:0443", 0, "1.2.3.4:443"},
		{"localhost:80", 0, "localhost:80"}, // refused later, because of its address

		{"example.com", 0, ""}, {"example.com:", 0, ""}, {"example.com:0", 0, ""}, {"example.com:65536", 0, ""},
		{"example.com:22", 0, ""}, {"example.com:25", 0, ""}, {"example.com:025", 0, ""}, {"example.com:-1", 0, ""}, {"example.com:http", 0, ""},
		{"", 80, ""}, {":80", 0, ""}, {"a b:80", 0, ""}, {"a/b:80", 0, ""}, {"user@host:80", 0, ""},
		{"[fe80::1%25lo]:80", 0, ""}, {"[fe80::1%lo]:80", 0, ""}, {"a\x00b:80", 0, ""},
		{strings.Repeat("a", 254) + ":80", 0, ""},
	} {
		got, err := cfg.target(c.authority, c.port)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("target(%q, %d) = %q, %v", c.authority, c.port, got, err)
		}
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"example.com:443", "[::1]:80", "x", "a:25", "[fe80::1%eth0]:1", "0x7f.1:80", "[::ffff:1.2.3.4]"} {
		f.Add(s, uint16(0))
		f.Add(s, uint16(80))
	}
	f.Fuzz(func(t *testing.T, authority string, port uint16) {
		cfg := Config{Ports: []uint16{80, 443}}
		got, err := cfg.target(authority, port)
		if err != nil {
			return
		}
		host, p, err := net.SplitHostPort(got)
		if err != nil || !isHost(host) || p != "80" && p != "443" {
			t.Errorf("target(%q, %d) = %q, %v", authority, port, got, err)
		}
		if again, err := cfg.target(got, 0); again != got || err != nil {
			t.Errorf("target(%q) is %q the second time, %v", got, again, err)
		}
	})
}
