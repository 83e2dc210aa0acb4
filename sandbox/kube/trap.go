package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/sentence"
)

// A trap is a port of the bot's besides its door: the one other pod that is always there. Whoever reaches it from a
// room's pod reaches other pods, so boxinit tries it in each.
type trap struct {
	listener net.Listener
	// closed has the port on each of the bot's addresses, and the resolvers: where nothing may answer a room's pod.
	closed []string
	met    atomic.Pointer[func(netip.Addr)] // see OnNode
}

// maxTraps bounds the addresses of each kind.
const maxTraps = 4

// openTrap opens a trap at an address to listen on. In a pod, the bot's NetworkPolicy lets rooms' pods connect to that
// port, so that nothing but their own policy closes it.
func openTrap(ctx context.Context, at string) (*trap, error) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the bot's addresses: %w", err)
	}
	resolvers, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("list the resolvers: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", at)
	if err != nil {
		return nil, errNoTrap(at, err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String()) // as a listener writes it
	t := &trap{listener: listener, closed: append(addresses(own, port), nameservers(string(resolvers))...)}
	go t.serve()
	return t, nil
}

func errNoTrap(at string, err error) error {
	why := err.Error()
	if errors.Is(err, syscall.EADDRINUSE) {
		why = "another program does"
	}
	return sentence.Newf(fmt.Errorf("open a port that no pod may reach: %w", err),
		"The bot cannot listen on port %s, the one after that of KUBE_LISTEN: %s. It needs both: at this one, nothing may "+
			"answer the rooms' pods.", strings.TrimPrefix(at, ":"), why)
}

// serve closes each connection until the listener is closed: an earlier end would pass for a closed network.
func (t *trap) serve() {
	for {
		conn, err := t.listener.Accept()
		switch {
		case err == nil:
			conn.Close()
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(acceptPause)
		}
	}
}

// addresses returns where a port is reached from outside.
func addresses(own []net.Addr, port string) (found []string) {
	for _, one := range own {
		if network, ok := one.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && len(found) < maxTraps {
			found = append(found, net.JoinHostPort(network.IP.String(), port))
		}
	}
	return found
}

// nameservers returns those of a resolv.conf: in a pod, the cluster's. Through them, data could get out.
func nameservers(text string) (found []string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" || len(found) == maxTraps {
			continue
		}
		ip, err := netip.ParseAddr(fields[1]) // on the node's own link, too, where some clusters have a cache
		if err == nil && !ip.IsLoopback() && !ip.IsUnspecified() && !ip.IsMulticast() {
			found = append(found, netip.AddrPortFrom(ip, 53).String())
		}
	}
	return found
}

// onNodes are the ports of a node on which something listens: its kubelet, and often SSH.
var onNodes = []string{"10250", "22"}

// in returns a pod's strength with the trap in it. Nil is no trap. Hosts are the addresses of the pod's own node, to
// which policies often do not apply.
func (t *trap) in(strength string, hosts ...string) (string, error) {
	if t == nil {
		return strength, nil
	}
	var s boxinit.Strength
	if err := json.Unmarshal([]byte(strength), &s); err != nil {
		return "", fmt.Errorf("read a sandbox's strength: %w", err)
	}
	if s.Pod == nil {
		s.Pod = &boxinit.Pod{}
	}
	s.Pod.Closed = slices.Clone(t.closed)
	met := t.met.Load()
	for _, host := range hosts {
		if address, err := netip.ParseAddr(host); err == nil && met != nil {
			(*met)(address)
		}
		for _, port := range onNodes {
			s.Pod.Closed = append(s.Pod.Closed, net.JoinHostPort(host, port))
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write a sandbox's strength: %w", err)
	}
	return string(data), nil
}

// OnNode calls do with the addresses of the node of each pod that Ensure returns.
func (c *Cluster) OnNode(do func(netip.Addr)) {
	if c.trap != nil {
		c.trap.met.Store(&do)
	}
}

func (t *trap) close() {
	if t != nil {
		t.listener.Close()
	}
}
