package gateway

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// pipe copies in both directions until both sides have ended, one of them fails, or no byte has arrived for the idle
// time.
func pipe(a, b net.Conn, idle time.Duration) {
	alive := func() {
		until := time.Now().Add(idle)
		a.SetDeadline(until)
		b.SetDeadline(until)
	}
	alive()
	var wg sync.WaitGroup
	wg.Go(func() { OneWay(a, b, 32<<10, alive) })
	OneWay(b, a, 32<<10, alive)
	wg.Wait()
}

// OneWay copies until from ends and passes the end on; after an error it closes both. It holds a buffer of that size,
// and calls alive before each write.
func OneWay(to, from net.Conn, size int, alive func()) {
	buf := make([]byte, size)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			alive()
			if _, err := to.Write(buf[:n]); err != nil {
				to.Close()
				from.Close()
				return
			}
		}
		if err != nil {
			if half, ok := to.(interface{ CloseWrite() error }); !ok || !errors.Is(err, io.EOF) || half.CloseWrite() != nil {
				to.Close()
				from.Close()
			}
			return
		}
	}
}
