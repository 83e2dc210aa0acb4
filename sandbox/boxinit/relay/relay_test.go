package relay

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// certified returns a certificate in PEM.
func certified(t *testing.T) string {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{DoorName}}
	der, err := x509.CreateCertificate(rand.Reader, of, of, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestRelayEnvironment(t *testing.T) {
	good := certified(t)
	for name, c := range map[string]struct {
		door, certificate string
		ok                bool
	}{
		"good":           {"10.0.0.1:7777", good, true},
		"IPv6":           {"[fd00::1]:7777", good, true},
		"no door":        {"", good, false},
		"a name":         {"bot:7777", good, false},
		"no port":        {"10.0.0.1", good, false},
		"no certificate": {"10.0.0.1:7777", "", false},
		"not PEM":        {"10.0.0.1:7777", "x", false},
		"damaged":        {"10.0.0.1:7777", strings.Replace(good, "\nM", "\nN", 1), false},
	} {
		r, err := newRelay(c.door, c.certificate, "", io.Discard)
		if (err == nil) != c.ok || c.ok && r.token != DoorToken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if _, err := readToken(path); err == nil {
		t.Error("no error without a file")
	}
	long := strings.Repeat("x", MaxToken)
	for text, want := range map[string]string{
		"a.b-c_d": "a.b-c_d", "abc\n": "abc", long[1:]: long[1:],
		"": "", "\n": "", "a\nb": "", long: "", long + long: "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readToken(path); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%.10q: %d bytes, %v", text, len(got), err)
		}
	}
}

// Every user can connect to the socket, and it replaces an earlier one.
func TestOfferSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	for range 2 {
		listener, err := offerSocket(path)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
			t.Errorf("%v, %v", info, err)
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		listener.SetDeadline(time.Now().Add(time.Minute))
		if _, err := listener.Accept(); err != nil {
			t.Error(err)
		}
	}
	if _, err := offerSocket(filepath.Join(path, "sock")); err == nil {
		t.Error("no error below a file")
	}
}

// However many clients wait, the relay opens only so many connections to the bot.
func TestRelayTakesTurns(t *testing.T) {
	bot, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int64
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := bot.Accept()
			if err != nil {
				return
			}
			tried.Add(1)
			conn.Close()
		}
	})
	r, err := newRelay(bot.Addr().String(), certified(t), "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "sock")
	listener, err := offerSocket(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { forwarder{r.dial, doorPause}.serve(ctx, listener) })
	begun := time.Now()
	for range 400 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	time.Sleep(time.Second)
	if most := int64(maxTurns * (time.Since(begun)/turnTime + 2)); tried.Load() > most || tried.Load() < maxTurns {
		t.Errorf("%d tries, at most %d", tried.Load(), most)
	}
	cancel()
	listener.Close()
	bot.Close()
	running.Wait()
}

func TestComplain(t *testing.T) {
	var out bytes.Buffer
	r := relay{stderr: &out}
	for range 3 {
		r.complain("no")
	}
	r.complaint = r.complaint.Add(-complaintPause)
	r.complain("no")
	if out.String() != "boxinit: no\nboxinit: no\n" {
		t.Errorf("%q", out.String())
	}
}
