package engine

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/settings"
)

// TestForVolumes opens the door in a cluster that has nothing but agent-sandbox.
func TestForVolumes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/agents.x-k8s.io/v1beta1" {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	door, dir, temporary := free.Addr().String(), t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "kubeconfig"))
	cluster := func(server string) {
		t.Helper()
		text := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],` +
			`"clusters":[{"name":"c","cluster":{"server":"` + server + `"}}]}`
		if err := os.WriteFile(os.Getenv("KUBECONFIG"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := settings.Load(nil, []string{"STATE_DIR=" + filepath.Join(dir, "state"), "SANDBOX_ENGINE=kubernetes",
		"KUBE_DOOR=" + door, "KUBE_LISTEN=" + door}, dir)
	if err != nil {
		t.Fatal(err)
	}
	closed := func(what string) {
		t.Helper()
		if conn, err := net.Dial("tcp", door); err == nil {
			conn.Close()
			t.Errorf("%s: the door is open", what)
		}
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("%s: it leaves %v, %v", what, left, err)
		}
	}
	for what, server := range map[string]string{"no API server": "http://127.0.0.1:1", "the port is in use": server.URL} {
		cluster(server)
		if _, _, err := ForVolumes(t.Context(), cfg, zerolog.Nop()); err == nil {
			t.Errorf("%s: no error", what)
		}
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("%s: it leaves %v, %v", what, left, err)
		}
	}
	free.Close()
	closed("before")

	cluster(server.URL)
	_, end, err := ForVolumes(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", door, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.ConnectionState().PeerCertificates[0].VerifyHostname("matrix-tui"); err != nil {
		t.Error(err)
	}
	conn.Close()
	host, port, _ := net.SplitHostPort(door)
	number, _ := strconv.Atoi(port)
	trap := net.JoinHostPort(host, strconv.Itoa(number+1))
	beside, err := net.Dial("tcp", trap)
	if err != nil {
		t.Fatalf("nothing is beside the door: %v", err)
	}
	beside.Close()
	end()
	closed("afterwards")
	if conn, err := net.Dial("tcp", trap); err == nil {
		conn.Close()
		t.Error("what is beside the door stays open")
	}
	if _, err := os.Stat(string(cfg.StateDir)); err == nil {
		t.Error("it has written into the state folder")
	}
}
