package e2ee

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// home is the address of our own Dendrite; missingHome says why there is none.
var home, missingHome string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "e2ee-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	stop, err := startHome(dir)
	if err != nil {
		missingHome = err.Error()
		return m.Run()
	}
	defer stop()
	return m.Run()
}

// dendriteFolder is the directory of the homeserver's binaries.
func dendriteFolder() string {
	if dir := os.Getenv("MATRIX_TUI_DENDRITE"); dir != "" {
		return dir
	}
	cache := os.Getenv("MATRIX_TUI_CACHE")
	if user, err := os.UserCacheDir(); cache == "" && err == nil {
		cache = filepath.Join(user, "matrix-tui")
	}
	return filepath.Join(cache, "bin")
}

func startHome(dir string) (stop func(), err error) {
	bins := dendriteFolder()
	if _, err := os.Stat(filepath.Join(bins, "dendrite")); err != nil {
		return nil, fmt.Errorf("no Dendrite in %q: set MATRIX_TUI_DENDRITE", bins)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(filepath.Join("..", "..", "..", "deploy", "homeserver", "start"), filepath.Join(dir, "data"), strconv.Itoa(port))
	cmd.Env = append(os.Environ(), "MATRIX_TUI_DENDRITE="+bins)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	home = "http://127.0.0.1:" + strconv.Itoa(port)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		select {
		case err := <-ended:
			return nil, fmt.Errorf("homeserver exited: %v", err)
		case <-tick.C:
		}
		resp, err := http.Get(home + "/_matrix/client/versions")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return stop, nil
		}
	}
	stop()
	return nil, fmt.Errorf("the homeserver does not answer")
}

func needHome(t *testing.T) {
	t.Helper()
	if missingHome == "" {
		return
	}
	if os.Getenv("MATRIX_TUI_E2E") == "require" {
		t.Fatal(missingHome)
	}
	t.Skip(missingHome)
}
