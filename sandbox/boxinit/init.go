package boxinit

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"matrix-tui/sandbox/boxinit/relay"
)

const (
	// Door is the address at which programs in a container reach the gateway.
	Door = "127.0.0.1:3128"
	// GatewaySocket is the path of the gateway's socket in a container.
	GatewaySocket = "/run/gateway/sock"
	// farewell is how much time processes have when the container stops.
	farewell = 300 * time.Millisecond
)

// serve is PID 1: it reaps orphans, forwards connections, and ends on SIGTERM.
func (p *Program) serve() int {
	reserveThreads()
	debug.SetGCPercent(25)
	// What was parked ended with the container. The rest of it, which a power failure may have damaged, is of no use.
	_ = os.RemoveAll(store{p.Dir}.run(parkedRun))
	renew(store{p.Dir}, packageLists, ListsBefore)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGCHLD)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listener, err := net.Listen("tcp", Door)
	if err != nil {
		// Without the gateway there is no model, but a person can still look around.
		fmt.Fprintln(p.Stderr, "boxinit: forward to the gateway:", err)
	} else {
		defer listener.Close()
		go relay.Forward(ctx, listener, p.Gateway)
	}
	connecting, again := 0, time.NewTimer(0)
	for {
		select {
		case <-again.C:
			if connecting, err = p.startConnecting(); err != nil {
				again.Reset(callPause) // the container may have used up its processes
			}
		case s := <-signals:
			if s != unix.SIGCHLD {
				keepLists("", packageLists) // what a run has installed that does not end
				goodbye(store{p.Dir})
				return 0
			}
			switch ended := reap(connecting); {
			case ended && isRemoved(store{p.Dir}):
				goodbye(store{p.Dir}) // podman no longer knows the container, so nothing else would end it
				return exitError
			case ended:
				again.Reset(callPause)
			}
		}
	}
}

// startConnecting starts the process that carries out the bot's requests.
func (p *Program) startConnecting() (pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	argv := append(append([]string{"boxinit"}, p.Self[1:]...), "connect")
	child, err := os.StartProcess(p.Self[0], argv, &os.ProcAttr{Dir: "/", Files: []*os.File{null, null, null}})
	if err != nil {
		return 0, err
	}
	pid = child.Pid
	return pid, child.Release()
}

// reap reaps all children that have ended, and reports whether one of them was that one.
func reap(child int) (is bool) {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return is
		}
		is = is || pid == child
	}
}

// goodbye terminates all processes and waits a moment. Supervisors are killed first: a run that ends because its
// container stops was interrupted, and must not be recorded as ended.
func goodbye(s store) {
	entries, _ := os.ReadDir(s.runs())
	for _, e := range entries {
		var sup supervisorRecord
		if readJSON(s.file(e.Name(), "supervisor.json"), &sup) != nil {
			continue
		}
		if p, err := processOf(sup.PID); err == nil && p.ticks == sup.Ticks {
			unix.Kill(sup.PID, unix.SIGKILL)
		}
	}
	for end := time.Now().Add(farewell); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		reap(0)
		if unix.Kill(-1, unix.SIGTERM) != nil { // no process is left
			return
		}
	}
}
