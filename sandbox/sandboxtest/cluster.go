package sandboxtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// DoorIn returns an address of this host that is free, and that pods reach in the cluster of deploy/kube-test whose
// folder this is.
func DoorIn(cluster string) (string, error) {
	at, err := os.ReadFile(filepath.Join(cluster, "host-address"))
	if err != nil {
		return "", fmt.Errorf("find the cluster, which MATRIX_TUI_KUBE must name: %w", err)
	}
	const first, ports = 20000, 10000 // as in deploy/kube-test/cluster
	for range ports {
		free, err := net.Listen("tcp", net.JoinHostPort(strings.TrimSpace(string(at)), strconv.Itoa(first+rand.IntN(ports))))
		if err == nil {
			return free.Addr().String(), free.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return "", fmt.Errorf("find a port for the door: %w", err)
		}
	}
	return "", errors.New("no port is free for the door")
}
