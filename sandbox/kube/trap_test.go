package kube

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox/boxinit"
	"matrix-tui/state/sentence"
)

func TestTrap(t *testing.T) {
	trap, err := openTrap(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer trap.close()
	_, port, _ := net.SplitHostPort(trap.listener.Addr().String())
	address := net.JoinHostPort("127.0.0.1", port)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}

	trap.closed = []string{"10.0.0.7:" + port}
	var met []string
	(&Cluster{trap: trap}).OnNode(func(address netip.Addr) { met = append(met, address.String()) })
	text, err := trap.in(`{"Memory":5,"Pod":{"HostIDs":true}}`, "10.0.0.2", "fd00::2")
	if err != nil {
		t.Fatal(err)
	}
	var got boxinit.Strength
	want := boxinit.Strength{Memory: 5, Pod: &boxinit.Pod{HostIDs: true, Closed: []string{
		"10.0.0.7:" + port, "10.0.0.2:10250", "10.0.0.2:22", "[fd00::2]:10250", "[fd00::2]:22"}}}
	if err := json.Unmarshal([]byte(text), &got); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v, (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	if !slices.Equal(met, []string{"10.0.0.2", "fd00::2"}) {
		t.Errorf("the nodes are %q", met)
	}
	if text, err := trap.in("damaged"); err == nil {
		t.Errorf("a damaged strength becomes %q", text)
	}

	if other, err := openTrap(t.Context(), ":"+port); err == nil {
		other.close()
		t.Error("two traps have one port")
	} else if said := sentence.Text(err); !strings.Contains(said, port+", the one after that of KUBE_LISTEN: another program does") {
		t.Errorf("a port that is taken: %q", said)
	}
	trap.close()
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("it is open after its end")
	}
}

// What is tried are addresses that others reach, and not too many of them.
func TestTrapAddresses(t *testing.T) {
	var own []net.Addr
	for _, text := range []string{"127.0.0.1/8", "169.254.3.4/16", "fe80::1/64", "::1/128", "10.42.0.7/24", "fd00:1::7/64"} {
		ip, network, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, &net.IPNet{IP: ip, Mask: network.Mask})
	}
	if got, want := addresses(own, "7"), []string{"10.42.0.7:7", "[fd00:1::7]:7"}; !slices.Equal(got, want) {
		t.Errorf("addresses %q, want %q", got, want)
	}
	if got := addresses(slices.Repeat(own[4:5], 99), "7"); len(got) != maxTraps {
		t.Errorf("%d addresses", len(got))
	}
	for text, want := range map[string][]string{
		"search x\n# nameserver 10.0.0.1\nnameserver 127.0.0.53\nnameserver\nnameserver 10.43.0.10 # \nnameserver x\n": {"10.43.0.10:53"},
		"nameserver 169.254.20.10\nnameserver fe80::1%eth0\nnameserver fd00::a\nnameserver 2001:db8::1":                {"169.254.20.10:53", "[fe80::1%eth0]:53", "[fd00::a]:53", "[2001:db8::1]:53"},
		"nameserver ::1\nnameserver ::\nnameserver 0.0.0.0\nnameserver 224.0.0.251\nnameserver ff02::fb%eth0\n":        nil,
		strings.Repeat("nameserver 10.0.0.1\n", 99):                                                                    slices.Repeat([]string{"10.0.0.1:53"}, maxTraps),
	} {
		if got := nameservers(text); !slices.Equal(got, want) {
			t.Errorf("nameservers of %q: %q, want %q", text, got, want)
		}
	}
}

// failing is a listener whose first calls fail.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	return f.Listener.Accept()
}

// A bot that is out of descriptors for a while does not look like a closed network afterwards.
func TestTrapOutOfDescriptors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() {
		(&trap{listener: &failing{listener, []error{syscall.EMFILE, syscall.ECONNABORTED}}}).serve()
		close(ended)
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(soon))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is not taken: %v", err)
	}
	listener.Close()
	<-ended
}
