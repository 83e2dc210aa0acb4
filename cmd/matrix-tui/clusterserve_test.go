//go:build kube

package main

import (
	"context"
	"io"
	"net"
	"os/exec"
	"sync"
	"time"

	"matrix-tui/sandbox/sandboxtest"
)

// serve does for the bot's pod what a kube-proxy and an engine for NetworkPolicy do.
func (c cluster) serve(service string) {
	var mu sync.Mutex
	pod := ""
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			out, _ := exec.CommandContext(ctx, "../../deploy/kube-test/cluster", "kubectl", c.dir, "-n", "matrix-tui", "get", "pod",
				"matrix-tui-0", "--ignore-not-found", "-o", "jsonpath={.status.podIP}").Output()
			if at := string(out); at != "" && at != pod {
				_ = exec.CommandContext(ctx, "../../deploy/kube-test/cluster", "exempt", c.dir, at).Run()
				mu.Lock()
				pod = at
				mu.Unlock()
			}
			select {
			case <-ctx.Done():
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	c.t.Cleanup(func() { cancel(); watching.Wait(); c.operate("network", "closed") })
	c.relay(net.JoinHostPort(service, "3129"), func() string {
		mu.Lock()
		defer mu.Unlock()
		return net.JoinHostPort(pod, "3129")
	})
}

// forward returns an address at which the bot's pod reaches a port of the host's loopback.
func (c cluster) forward(to string) string {
	c.t.Helper()
	at, err := sandboxtest.DoorIn(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	c.relay(at, func() string { return to })
	return at
}

// relay joins each connection to an address with another one.
func (c cluster) relay(at string, to func() string) {
	c.t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				target, err := net.DialTimeout("tcp", to(), 5*time.Second)
				if err != nil {
					return
				}
				defer target.Close()
				go func() {
					_, _ = io.Copy(target, from)
					target.Close()
				}()
				_, _ = io.Copy(from, target)
			}()
		}
	}()
}
