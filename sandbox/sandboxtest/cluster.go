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
	"sync"
	"syscall"
)

// doors are those of this process.
var doors struct {
	sync.Mutex
	marks []net.PacketConn // UDP sockets with the same addresses
}

// DoorIn returns an address of this host that is free, and that pods reach in the cluster of deploy/kube-test whose
// folder this is. The port after it is free, too, and pods do not reach it. No process gets the same one until this one
// has ended.
func DoorIn(cluster string) (string, error) {
	at, err := os.ReadFile(filepath.Join(cluster, "host-address"))
	if err != nil {
		return "", fmt.Errorf("find the cluster, which MATRIX_TUI_KUBE must name: %w", err)
	}
	const first, all = 19000, 500 // as in deploy/kube-test/cluster
	for _, n := range rand.Perm(all) {
		door := net.JoinHostPort(strings.TrimSpace(string(at)), strconv.Itoa(first+2*n))
		mark, err := net.ListenPacket("udp", door)
		if err == nil {
			doors.Lock()
			defer doors.Unlock()
			doors.marks = append(doors.marks, mark)
			return door, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return "", fmt.Errorf("find a port for the door: %w", err)
		}
	}
	return "", errors.New("no port is free for the door")
}
