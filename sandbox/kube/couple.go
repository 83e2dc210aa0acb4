package kube

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// A direction holds a small buffer while it waits, and a large one while much arrives.
	smallBuffer, largeBuffer = 1 << 10, 16 << 10

	maxUnread = 2 * time.Minute  // for a pod to read on, as in package gateway
	maxUntake = 10 * time.Minute // for the gateway, which takes only so many connections of a room at a time
	lingering = 10 * time.Second // for a pod to end its half when the gateway has ended its own
)

var largeBuffers = sync.Pool{New: func() any { return new([largeBuffer]byte) }}

// couple copies in both directions until both have ended or one has failed. A gateway that has ended reads no more.
func couple(pod *tls.Conn, gateway net.Conn) {
	var back sync.WaitGroup
	back.Go(func() {
		pass(pod, gateway, maxUnread)
		_ = pod.SetReadDeadline(time.Now().Add(lingering))
	})
	pass(gateway, pod, maxUntake)
	back.Wait()
}

// pass copies until from ends, and passes the end on; after an error it closes both. A write may take that long.
func pass(to, from net.Conn, limit time.Duration) {
	small := make([]byte, smallBuffer)
	for buffer := small; ; {
		n, err := from.Read(buffer)
		if n > 0 {
			if to.SetWriteDeadline(time.Now().Add(limit)) != nil {
				err = net.ErrClosed
			} else if _, failed := to.Write(buffer[:n]); failed != nil {
				err = failed
			}
		}
		full := n == len(buffer)
		if len(buffer) == largeBuffer && (!full || err != nil) {
			largeBuffers.Put((*[largeBuffer]byte)(buffer))
			buffer = small
		} else if len(buffer) == smallBuffer && full && err == nil {
			buffer = largeBuffers.Get().(*[largeBuffer]byte)[:]
		}
		if err == nil {
			continue
		}
		half, ok := to.(interface{ CloseWrite() error })
		if !ok || !errors.Is(err, io.EOF) || half.CloseWrite() != nil {
			to.Close()
			from.Close()
		}
		return
	}
}
