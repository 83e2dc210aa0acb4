package boxinit

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"
)

// Process is a process of the container.
type Process struct {
	Left
	Memory int64         // bytes that are in memory
	CPU    time.Duration // that it has used
}

const maxProcesses = 100

// running returns the processes of the container, newest first, and whether there are more.
func running() (list []Process, more bool, err error) {
	all, err := processes()
	if err != nil {
		return nil, false, err
	}
	slices.SortStableFunc(all, func(a, b process) int { return cmp.Compare(b.ticks, a.ticks) })
	sockets, boot := listening("/proc/net"), booted()
	for _, p := range all {
		if p.dead {
			continue
		}
		if len(list) == maxProcesses {
			return list, true, nil
		}
		list = append(list, Process{Memory: p.pages * int64(os.Getpagesize()),
			CPU: time.Duration(p.used) * time.Second / userHz,
			Left: Left{PID: p.pid, Command: commandOf(p.pid), Ports: portsOf(p.pid, sockets),
				Since: boot.Add(time.Duration(p.ticks) * time.Second / userHz)}.bounded()})
	}
	return list, false, nil
}

// BoundedProcesses is [BoundedLeft] for processes.
func BoundedProcesses(list []Process) []Process {
	list = slices.Clone(list[:min(len(list), maxProcesses)])
	for i, p := range list {
		list[i].Left = BoundedLeft([]Left{p.Left})[0]
	}
	return list
}

// dialTime is how long a program in the container may take to accept a connection.
const dialTime = 5 * time.Second

// dial connects to a port on which a program of the container listens, but not to the gateway.
func dial(port int) (conn net.Conn, err error) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		address := net.JoinHostPort(host, strconv.Itoa(port))
		if port < 1 || port > 65535 || address == Door {
			return nil, fmt.Errorf("port %d is not one of a program", port)
		}
		if conn, err = net.DialTimeout("tcp", address, dialTime); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// tunnel connects the caller with a port. After the reply, the connection carries nothing but the bytes of the two.
func (o *operation) tunnel() Reply {
	conn, err := dial(o.Port)
	if err != nil {
		return Reply{Error: err.Error()}
	}
	defer conn.Close()
	if o.frames.WriteJSON(FrameReply, Reply{}) != nil {
		return Reply{}
	}
	ended := make(chan struct{}, 2)
	pass := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go pass(conn, o.frames.conn)
	go pass(o.frames.conn, conn)
	<-ended
	return Reply{}
}
