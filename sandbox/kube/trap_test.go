package kube

import (
	"encoding/json"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/sandbox/boxinit"
)

func TestTrap(t *testing.T) {
	trap, err := openTrap(t.Context())
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
	text, err := trap.in(`{"Memory":5,"Pod":{"HostIDs":true}}`)
	if err != nil {
		t.Fatal(err)
	}
	var got boxinit.Strength
	want := boxinit.Strength{Memory: 5, Pod: &boxinit.Pod{HostIDs: true, Closed: trap.closed}}
	if err := json.Unmarshal([]byte(text), &got); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v, (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	if text, err := trap.in("damaged"); err == nil {
		t.Errorf("a damaged strength becomes %q", text)
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
	text := "search x\n# nameserver 10.0.0.1\nnameserver 127.0.0.53\nnameserver\nnameserver 10.43.0.10 # \nnameserver x\n"
	if got, want := nameservers(text), []string{"10.43.0.10:53"}; !slices.Equal(got, want) {
		t.Errorf("nameservers %q, want %q", got, want)
	}
}
