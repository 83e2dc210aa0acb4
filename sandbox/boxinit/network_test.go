package boxinit

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTooManyAddresses(t *testing.T) {
	noServer(t)
	n := network{always: []string{}, wait: -1}
	var all []string
	for i := range maxTried + 1 {
		all = append(all, fmt.Sprintf("127.0.0.1:%d", i+1))
	}
	if got := n.open(all); len(got) != 1 || !strings.Contains(got[0], "too many") {
		t.Errorf("%q", got)
	}
}

// What was closed is tried again after a day, what was open at once.
func TestNetworkOnceADay(t *testing.T) {
	noServer(t)
	fd, address := bound(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	n := network{always: []string{address}, now: func() time.Time { return now }}
	expect := func(when string, open bool) {
		t.Helper()
		if got := n.open(nil); (got != nil) != open {
			t.Errorf("%s: %q", when, got)
		}
	}
	expect("at first", false)
	if err := unix.Listen(fd, 8); err != nil {
		t.Fatal(err)
	}
	now = now.Add(24*time.Hour - time.Second)
	expect("on the same day", false)
	other := listens(t)
	if got := n.open([]string{other}); len(got) != 1 || !strings.Contains(got[0], other) {
		t.Errorf("an address that was not tried before: %q", got)
	}
	now = now.Add(time.Second)
	expect("a day later", true)
	expect("again", true)
	if err := unix.Shutdown(fd, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	expect("closed again", false)
}

// Runs that come while the network is being tried wait for that, and do not try it once more.
func TestNetworkIsTriedOnce(t *testing.T) {
	noServer(t)
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	address := conn.LocalAddr().String()
	n := network{always: []string{address}, domain: netip.MustParseAddrPort(address).Port(), wait: 400 * time.Millisecond}
	begun := time.Now()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if weak := n.open(nil); weak != nil || time.Since(begun) < n.wait {
				t.Errorf("%q after %s", weak, time.Since(begun))
			}
		})
	}
	all.Wait()
	queries := 0
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	for {
		if _, _, err := conn.ReadFrom(make([]byte, 512)); err != nil {
			break
		}
		queries++
	}
	if queries < 1 || queries > 3 { // each trial sends two, one if it is late
		t.Errorf("%d queries", queries)
	}
}

// The connector tries before anybody asks, but only in a pod.
func TestNetworkIsTriedEarly(t *testing.T) {
	noServer(t)
	_, always := bound(t)
	fd, listed := bound(t)
	for _, c := range []struct {
		set   bool
		value string
		tried []string // of the two
	}{{false, "", nil}, {true, "", []string{always}}, {true, "1", []string{always}}, {true, "nonsense," + listed, []string{always, listed}}} {
		t.Setenv(PodEnv, c.value)
		if !c.set {
			os.Unsetenv(PodEnv)
		}
		n := network{always: []string{always}}
		n.tryEarly()()
		slices.Sort(c.tried)
		if got := slices.Sorted(maps.Keys(n.closed)); !slices.Equal(got, c.tried) {
			t.Errorf("%+v: %q", c, got)
		}
		if len(c.tried) < 2 {
			continue
		}
		if err := unix.Listen(fd, 8); err != nil {
			t.Fatal(err)
		}
		if weak := n.open([]string{listed}); weak != nil {
			t.Errorf("the first run does not use what was found: %q", weak)
		}
	}
}

// Silence counts only once the pod has reached the bot: some clusters drop everything of a new pod at first.
func TestNetworkIsTriedAfterGateway(t *testing.T) {
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	tried := make(chan bool)
	go func() {
		if conn, err := server.Accept(); err == nil {
			conn.Close()
			close(tried)
		}
	}()
	dir := t.TempDir()
	gateway, err := net.Listen("unix", dir+"/sock")
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()
	connect := exec.Command("/proc/self/exe", "connect")
	host, port, _ := net.SplitHostPort(server.Addr().String())
	connect.Env = append(os.Environ(), "BOXINIT_TEST_DIR="+dir, "BOXINIT_TEST_GATEWAY="+dir+"/sock", PodEnv+"=1",
		apiServer[0]+"="+host, apiServer[1]+"="+port)
	if err := connect.Start(); err != nil {
		t.Fatal(err)
	}
	defer connect.Wait()
	defer connect.Process.Kill()
	call := func() net.Conn {
		t.Helper()
		conn, err := gateway.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	for range 3 { // there is no bot yet
		call().Close()
	}
	select {
	case <-tried:
		t.Fatal("tried before it is known that anything can be reached")
	default:
	}
	conn := call()
	defer conn.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-tried:
	case <-time.After(30 * time.Second):
		t.Error("never tried")
	}
}

// The API server is the one of the process's environment.
func TestAPIServer(t *testing.T) {
	address := listens(t)
	host, port, _ := net.SplitHostPort(address)
	for _, c := range []struct {
		host, port string
		open       bool
	}{{host, port, true}, {"localhost", port, false}, {host, "", false}, {"", port, false}} {
		t.Setenv(apiServer[0], c.host)
		t.Setenv(apiServer[1], c.port)
		n := network{always: []string{}, wait: 100 * time.Millisecond}
		if got := n.open(nil); (got != nil) != c.open {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
