package boxinit

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// question is a DNS query for the addresses of example.com: see RFC 1035, section 4.1.
const question = "\x5a\x17\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"

const (
	repeat     = 500 * time.Millisecond // until a query is sent again
	maxSignals = 100                    // that may interrupt one look at what has happened
)

// trial is an attempt to get an answer.
type trial struct {
	to   netip.AddrPort
	dns  bool // with a query by UDP, otherwise with a TCP connection
	fd   int  // -1 = none
	done bool
	open bool
	err  error // why it is not known whether it is open
}

// tryAll tries addresses at the same time; domain is the port of DNS. For each it returns what is wrong with it, "" if
// nothing answers there.
//
// It asks the kernel once more when the time is over: other processes of the container may have kept this one from
// running, but not the kernel from receiving an answer. For the same reason, an error that they could cause, such as
// too few ports, says nothing about the network.
func tryAll(addresses []string, wait time.Duration, domain uint16) map[string]string {
	found, of := map[string]string{}, map[string][]*trial{}
	var all []*trial
	for _, address := range addresses {
		to, err := netip.ParseAddrPort(address)
		if err != nil || to.Port() == 0 {
			found[address] = fmt.Sprintf("the network is unknown: %q is no address", address)
			continue
		}
		to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
		of[address] = []*trial{startTrial(to, false)}
		if to.Port() == domain {
			of[address] = append(of[address], startTrial(to, true))
		}
		all = append(all, of[address]...)
	}
	for end, last := time.Now().Add(wait), false; !last; {
		left := time.Until(end)
		last = left <= 0
		poll(all, min(max(left, 0), repeat))
		last = last || !slices.ContainsFunc(all, func(t *trial) bool { return !t.done })
		for _, t := range all {
			if !last {
				t.ask()
			}
		}
	}
	for address, trials := range of {
		for _, t := range trials {
			if t.fd >= 0 {
				unix.Close(t.fd)
			}
		}
		found[address] = wrong(address, trials)
	}
	return found
}

// wrong says what the trials of one address have found.
func wrong(address string, trials []*trial) (text string) {
	for _, t := range trials {
		switch {
		case t.open && t.dns:
			return "the network is open: " + address + " answers a DNS query"
		case t.open:
			return "the network is open: " + address + " answers"
		case t.err != nil:
			text = fmt.Sprintf("the network is unknown: try %s: %v", address, t.err)
		}
	}
	return text
}

// startTrial begins to connect, or sends a query.
func startTrial(to netip.AddrPort, dns bool) *trial {
	t := &trial{to: to, dns: dns, fd: -1}
	family, kind := unix.AF_INET6, unix.SOCK_STREAM
	var address unix.Sockaddr = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	if to.Addr().Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	if dns {
		kind = unix.SOCK_DGRAM
	}
	if zone := to.Addr().Zone(); zone != "" {
		links, err := net.Interfaces()
		i := slices.IndexFunc(links, func(link net.Interface) bool { return link.Name == zone })
		if i < 0 { // the pod is not on that link
			t.done, t.err = true, err
			return t
		}
		address = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16(), ZoneId: uint32(links[i].Index)}
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.done = true
		if family != unix.AF_INET6 || !errors.Is(err, unix.EAFNOSUPPORT) { // a kernel without IPv6
			t.err = err
		}
		return t
	}
	t.fd = fd
	if err := unix.Connect(fd, address); !errors.Is(err, unix.EINPROGRESS) && (err != nil || !dns) {
		t.end(err)
	}
	t.ask()
	return t
}

// ask sends the query, again if there is no answer.
func (t *trial) ask() {
	if t.done || !t.dns {
		return
	}
	if _, err := unix.Write(t.fd, []byte(question)); err != nil {
		t.end(err)
	}
}

// poll waits for something to happen to one of them.
func poll(all []*trial, wait time.Duration) {
	var fds []unix.PollFd
	var waiting []*trial
	for _, t := range all {
		if t.done {
			continue
		}
		events := int16(unix.POLLOUT)
		if t.dns {
			events = unix.POLLIN
		}
		fds, waiting = append(fds, unix.PollFd{Fd: int32(t.fd), Events: events}), append(waiting, t)
	}
	if len(fds) == 0 {
		return
	}
	_, err := unix.Poll(fds, int((wait+time.Millisecond-1)/time.Millisecond))
	for range maxSignals { // other processes may send them
		if !errors.Is(err, unix.EINTR) {
			break
		}
		_, err = unix.Poll(fds, 0)
	}
	for i, t := range waiting {
		if err != nil {
			t.end(fmt.Errorf("poll: %w", err))
		} else if fds[i].Revents != 0 {
			t.look()
		}
	}
}

// look finds out what has happened.
func (t *trial) look() {
	if t.dns {
		if _, err := unix.Read(t.fd, make([]byte, 512)); !errors.Is(err, unix.EAGAIN) { // a damaged packet
			t.end(err)
		}
		return
	}
	errno, err := unix.GetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	t.end(err)
}

// unanswered are what the kernel says if nobody can be reached: nothing listens, a router or a firewall refuses, or
// there is no route. EINVAL is that of a route of the type blackhole.
var unanswered = []unix.Errno{unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENETDOWN,
	unix.ETIMEDOUT, unix.EACCES, unix.EPERM, unix.ENOPROTOOPT, unix.EPROTO, unix.EINVAL}

// end ends a trial by what the kernel says.
func (t *trial) end(err error) {
	is := func(errno unix.Errno) bool { return errors.Is(err, errno) }
	t.done = true
	switch {
	case err == nil, is(unix.ECONNRESET): // who resets a connection has accepted it before
		t.open = true
	case slices.ContainsFunc(unanswered, is):
	case is(unix.EADDRNOTAVAIL) && t.to.Addr().Is6() && !hasIPv6():
	default:
		t.err = err
	}
}

// hasIPv6 reports whether an interface, except for loopback, has an IPv6 address.
func hasIPv6() bool {
	addresses, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(addresses, func(a net.Addr) bool {
		ip, ok := a.(*net.IPNet)
		return !ok || ip.IP.To4() == nil && !ip.IP.IsLoopback()
	})
}
