package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"matrix-tui/sandbox/boxinit"
)

// A trap is a port of the bot's besides its door: the one other pod that is always there. Whoever reaches it from a
// room's pod reaches other pods, so boxinit tries it in each.
type trap struct {
	listener net.Listener
	closed   []string // the port on each of the bot's addresses, and the resolvers: where nothing may answer a room's pod
}

// maxTraps bounds the addresses of each kind.
const maxTraps = 4

func openTrap(ctx context.Context) (*trap, error) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the bot's addresses: %w", err)
	}
	resolvers, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("list the resolvers: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", ":0")
	if err != nil {
		return nil, fmt.Errorf("open a port that no pod may reach: %w", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String()) // as a listener writes it
	return &trap{listener, append(addresses(own, port), nameservers(string(resolvers))...)}, nil
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
		if ip := net.ParseIP(fields[1]); ip != nil && ip.IsGlobalUnicast() {
			found = append(found, net.JoinHostPort(ip.String(), strconv.Itoa(53)))
		}
	}
	return found
}

// in returns a pod's strength with the trap in it. Nil is no trap.
func (t *trap) in(strength string) (string, error) {
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
	s.Pod.Closed = t.closed
	data, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write a sandbox's strength: %w", err)
	}
	return string(data), nil
}

func (t *trap) close() {
	if t != nil {
		t.listener.Close()
	}
}
