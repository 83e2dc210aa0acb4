package kube

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"matrix-tui/sandbox/gateway"
)

const (
	// lineBuffer is what each direction of a connection holds, in bytes. Idle ones hold it, too.
	lineBuffer = 4 << 10

	maxUnread = 2 * time.Minute  // for a pod to read on, as in package gateway
	maxUntake = 10 * time.Minute // for the gateway, which takes only so many connections of a room at a time
	lingering = 10 * time.Second // for a pod to end its half when the gateway has ended its own
)

// couple copies in both directions until both have ended or one has failed. A gateway that has ended reads no more.
func couple(pod *tls.Conn, room net.Conn) {
	var back sync.WaitGroup
	back.Go(func() {
		gateway.OneWay(pod, room, lineBuffer, func() { _ = pod.SetWriteDeadline(time.Now().Add(maxUnread)) })
		_ = pod.SetReadDeadline(time.Now().Add(lingering))
	})
	gateway.OneWay(room, pod, lineBuffer, func() { _ = room.SetWriteDeadline(time.Now().Add(maxUntake)) })
	back.Wait()
}
