package boxinit

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// noServer forgets the API server of a cluster in which the tests may run.
func noServer(t *testing.T) {
	t.Helper()
	t.Setenv(apiServer[0], "")
}

// bound is a socket with an address at which nobody listens yet.
func bound(t *testing.T) (fd int, address string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
}

func listens(t *testing.T) string {
	t.Helper()
	fd, address := bound(t)
	if err := unix.Listen(fd, 8); err != nil {
		t.Fatal(err)
	}
	return address
}

// silent is an address that drops whatever comes, as many network policies do: its queue is full.
func silent(t *testing.T) string {
	t.Helper()
	fd, address := bound(t)
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		conn, err := net.DialTimeout("tcp4", address, 100*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the queue never was full")
	return ""
}

// resets accepts connections and resets them.
func resets(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return l.Addr().String()
}

// answersDNS answers a query when it comes for that time, 0 = never; nobody accepts connections there.
func answersDNS(t *testing.T, time int) string {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		query := make([]byte, 512)
		for n := 1; ; n++ {
			size, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			if string(query[:size]) != question {
				t.Errorf("query %q", query[:size])
			}
			if n == time {
				conn.WriteTo([]byte("no answer of DNS, but one"), from)
			}
		}
	})
	t.Cleanup(func() { conn.Close(); all.Wait() })
	return conn.LocalAddr().String()
}

func TestNetwork(t *testing.T) {
	noServer(t)
	_, closed := bound(t)
	open, reset, quiet := listens(t), resets(t), silent(t)
	answer, late, none := answersDNS(t, 1), answersDNS(t, 2), answersDNS(t, 0)
	port := func(address string) uint16 { return netip.MustParseAddrPort(address).Port() }
	mapped := "[::ffff:127.0.0.1]:" + fmt.Sprint(port(open))
	for name, c := range map[string]struct {
		n         *network
		addresses []string
		want      []string
	}{
		"closed":                  {&network{}, []string{closed}, nil},
		"none":                    {&network{}, nil, nil},
		"open":                    {&network{}, []string{closed, open}, []string{"the network is open: " + open + " answers"}},
		"always tried":            {&network{always: []string{open}}, []string{closed}, []string{"the network is open: " + open + " answers"}},
		"IPv4 in IPv6":            {&network{}, []string{mapped}, []string{"the network is open: " + mapped + " answers"}},
		"reset":                   {&network{}, []string{reset}, []string{"the network is open: " + reset + " answers"}},
		"silent":                  {&network{}, []string{quiet}, nil},
		"silent, and an open one": {&network{}, []string{quiet, open}, []string{"the network is open: " + open + " answers"}},
		"after the time":          {&network{wait: -1}, []string{open}, []string{"the network is open: " + open + " answers"}},
		"DNS":                     {&network{domain: port(answer)}, []string{answer}, []string{"the network is open: " + answer + " answers a DNS query"}},
		"DNS, the second time":    {&network{domain: port(late), wait: 2 * repeat}, []string{late}, []string{"the network is open: " + late + " answers a DNS query"}},
		"DNS without an answer":   {&network{domain: port(none)}, []string{none}, nil},
		"DNS, nobody there":       {&network{domain: port(closed)}, []string{closed}, nil},
		"DNS by TCP":              {&network{domain: port(open)}, []string{open}, []string{"the network is open: " + open + " answers"}},
		"no such link":            {&network{}, []string{"[fe80::1%nolink]:80"}, nil},
		"no addresses": {&network{}, []string{"example.com:443", "127.0.0.1", "127.0.0.1:0"}, []string{
			`the network is unknown: "127.0.0.1" is no address`, `the network is unknown: "127.0.0.1:0" is no address`,
			`the network is unknown: "example.com:443" is no address`,
		}},
		"the same one often": {&network{}, slices.Repeat([]string{open}, 2000), []string{"the network is open: " + open + " answers"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := c.n
			if n.always == nil {
				n.always = []string{}
			}
			if n.wait == 0 {
				n.wait = 200 * time.Millisecond
			}
			begun := time.Now()
			if diff := cmp.Diff(c.want, n.open(c.addresses)); diff != "" {
				t.Error(diff)
			}
			if took := time.Since(begun); took > n.wait+5*time.Second || name == "silent" && took < n.wait {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A resolver of a link is reached through it.
func TestNetworkOfLink(t *testing.T) {
	noServer(t)
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		own, err := link.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range own {
			at, _ := netip.ParsePrefix(one.String())
			if !at.Addr().Is6() || !at.Addr().IsLinkLocalUnicast() {
				continue
			}
			zoned := at.Addr().WithZone(link.Name)
			server, err := net.Listen("tcp6", netip.AddrPortFrom(zoned, 0).String())
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			n, address := network{always: []string{}}, netip.AddrPortFrom(zoned, uint16(server.Addr().(*net.TCPAddr).Port)).String()
			if got, want := n.open([]string{address}), "the network is open: "+address+" answers"; len(got) != 1 || got[0] != want {
				t.Errorf("%q, want %q", got, want)
			}
			return
		}
	}
	t.Skip("no interface has an address of its link")
}

// An error that processes of the container can cause does not pass for a closed network.
func TestTrialErrors(t *testing.T) {
	four, six := netip.MustParseAddrPort("1.1.1.1:443"), netip.MustParseAddrPort("[fd00:ec2::254]:80")
	for _, c := range []struct {
		to            netip.AddrPort
		err           error
		open, unknown bool
	}{
		{four, nil, true, false},
		{four, unix.ECONNRESET, true, false},
		{four, unix.ECONNREFUSED, false, false},
		{four, unix.EHOSTUNREACH, false, false},
		{four, unix.ENETUNREACH, false, false},
		{four, unix.ETIMEDOUT, false, false},
		{four, unix.EPERM, false, false},
		{four, unix.EADDRNOTAVAIL, false, true},
		{four, unix.EMFILE, false, true},
		{four, unix.ENOBUFS, false, true},
		{four, unix.EINTR, false, true},
		{six, unix.EADDRNOTAVAIL, false, hasIPv6()},
		{six, unix.ENETUNREACH, false, false},
	} {
		tried := &trial{to: c.to}
		tried.end(c.err)
		if tried.open != c.open || (tried.err != nil) != c.unknown || !tried.done {
			t.Errorf("%v: %+v", c.err, tried)
		}
		if text := wrong("x", []*trial{tried}); (text != "") != (c.open || c.unknown) {
			t.Errorf("%v: %q", c.err, text)
		}
	}
}
