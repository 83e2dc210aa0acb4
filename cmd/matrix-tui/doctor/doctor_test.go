package doctor

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"matrix-tui/cmd/matrix-tui/account"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/clitest"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/damage"
)

// closedPort is a loopback address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// begins fails unless a finding has this state and prefix.
func begins(t *testing.T, got Finding, want string) {
	t.Helper()
	if !strings.HasPrefix(got.String(), want) {
		t.Errorf("found %q, want %q…", got, want)
	}
	if clitest.Leaks(got.String()) {
		t.Errorf("the line shows the secret: %s", got)
	}
}

func TestCheckState(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	begins(t, checkState(dir), "ok   state folder "+dir+" is writable, ")
	gate := filepath.Join(dir, cli.GatewayFolder)
	if err := errors.Join(os.Mkdir(gate, 0o700), os.Chmod(gate, 0o755)); err != nil {
		t.Fatal(err)
	}
	begins(t, checkState(dir), "FAIL state folder "+dir+": other users of this host can reach the sockets in "+gate)
	if err := os.Chmod(gate, 0o700); err != nil {
		t.Fatal(err)
	}
	begins(t, checkState(dir), "ok   state folder "+dir)
	marked := filepath.Join(dir, "journal.db")
	if err := damage.Mark(marked, errors.New("test")); err != nil {
		t.Fatal(err)
	}
	begins(t, checkState(dir), "FAIL state folder "+dir+": journal.db is damaged: restart the bot")
	if err := damage.MoveAside(marked, damage.AsideName(marked)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	begins(t, checkState(filepath.Join(dir, "new", "er")), "ok   state folder "+dir+"/new/er will be created at the first start")
	begins(t, checkState(file), "FAIL state folder "+file+" is a file: move it away, or set STATE_DIR")
	begins(t, checkState(filepath.Join(file, "x")), "FAIL state folder "+file+"/x cannot be accessed (not a directory)")
	begins(t, checkState("/proc/sys"), "FAIL state folder /proc/sys is not writable (")
	long := filepath.Join(dir, strings.Repeat("x", 100))
	begins(t, checkState(long), fmt.Sprintf("FAIL state folder %s: the path is %d bytes long", long, len(long)))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the check leaves %v, %v behind", left, err)
	}
}

func TestSocketURI(t *testing.T) {
	dir, err := os.MkdirTemp("", "mt") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket, file := filepath.Join(dir, "s"), filepath.Join(dir, "f")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		socket:                  "ok   socket " + socket,
		file:                    "FAIL socket " + file + ": this is not a socket; set CONTAINER_HOST",
		filepath.Join(dir, "n"): "FAIL socket " + dir + "/n: no such file or directory; start it with `systemctl ",
	} {
		begins(t, checkSocket("unix://"+path), want)
	}
}

func TestAtLeast(t *testing.T) {
	for have, want := range map[string]bool{
		"4.3.1": true, "4.3": true, "4.10.0": true, "5.4.2": true, "5": true, "4.3.0-dev": true,
		"4.2.9": false, "3.4.4": false, "4": false, "": false, "x.y": false,
	} {
		if got := atLeast(have, "4.3"); got != want {
			t.Errorf("atLeast(%q, 4.3) = %v", have, got)
		}
	}
}

// What answers at MATRIX_HOMESERVER may not be a homeserver at all.
func TestCheckHomeserverThatIsNone(t *testing.T) {
	web := httptest.NewServer(http.FileServer(http.Dir(t.TempDir())))
	defer web.Close()
	cfg := &settings.Config{Homeserver: settings.WebAddress(web.URL), User: "bot", Password: settings.NewSecret(clitest.Hidden)}
	begins(t, checkHomeserver(t.Context(), cfg), "FAIL homeserver "+web.URL+" answered 404 without a list of versions: MATRIX_HOMESERVER must be ")
	begins(t, checkLogin(t.Context(), cfg, cli.StoredLogin{}), "FAIL login as bot was rejected (40")
	cfg.AccessToken = settings.NewSecret(clitest.Hidden)
	begins(t, checkLogin(t.Context(), cfg, cli.StoredLogin{}), "FAIL login: "+web.URL+" answered 404 to whoami")
	cfg.Homeserver = settings.WebAddress(closedPort(t))
	begins(t, checkHomeserver(t.Context(), cfg), "FAIL homeserver "+string(cfg.Homeserver)+" does not answer (")
	begins(t, checkLogin(t.Context(), cfg, cli.StoredLogin{}), "FAIL login: "+string(cfg.Homeserver)+" does not answer (")
}

func TestDoctorOnAnEmptyHost(t *testing.T) {
	dir := t.TempDir()
	got := clitest.Play(t, t.Context(), doctorCommands, []string{"STATE_DIR=" + dir, "CONTAINER_HOST=unix://" + dir + "/none"}, "doctor", "-offline")
	if got.Code != 1 || got.Stderr != "" {
		t.Errorf("code %d, stderr %s", got.Code, got.Stderr)
	}
	for _, line := range []string{
		"FAIL setting MATRIX_HOMESERVER is missing; expected ", "FAIL setting GEMINI_API_KEY is missing", "ok   state folder " + dir,
		"FAIL socket " + dir + "/none: no such file", "skip podman and image cannot be checked without the socket", "skip homeserver is not checked offline",
	} {
		if !strings.Contains("\n"+got.Stdout, "\n"+line) {
			t.Errorf("the report lacks %q:\n%s", line, got.Stdout)
		}
	}
}

var doctorCommands = []cli.Command{{Name: "doctor", About: "", Run: Command}, {Name: "login", About: "", Run: account.Login}, {Name: "trust", About: "", Run: account.Trust}}
