package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
)

// relay sits in front of podman's socket and counts requests.
type relay struct {
	path, to string
	listener net.Listener
	work     sync.WaitGroup

	mu         sync.Mutex
	lists, all int
	open       map[net.Conn]bool
}

func newRelay(path, to string) (*relay, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen before podman's socket: %w", err)
	}
	r := &relay{path: path, to: to, listener: listener, open: map[net.Conn]bool{}}
	r.work.Go(r.serve)
	return r, nil
}

func (r *relay) serve() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", r.to)
		if err != nil {
			in.Close()
			continue
		}
		r.mu.Lock()
		r.open[in], r.open[out] = true, true
		r.mu.Unlock()
		r.work.Go(func() {
			defer out.Close()
			_, _ = io.Copy(io.MultiWriter(out, counter{r}), in)
		})
		r.work.Go(func() {
			defer in.Close()
			_, _ = io.Copy(in, out)
		})
	}
}

// counter counts the headers of requests. Each is short and arrives in one piece, because the client waits for an
// answer before the next request.
type counter struct{ r *relay }

func (c counter) Write(p []byte) (int, error) {
	line, _, _ := bytes.Cut(p, []byte("\r\n"))
	if bytes.HasSuffix(line, []byte(" HTTP/1.1")) {
		c.r.mu.Lock()
		defer c.r.mu.Unlock()
		c.r.all++
		if bytes.Contains(line, []byte("/containers/json")) {
			c.r.lists++
		}
	}
	return len(p), nil
}

func (r *relay) count() (lists, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lists, r.all
}

func (r *relay) close() {
	r.listener.Close()
	r.mu.Lock()
	for conn := range r.open {
		conn.Close()
	}
	r.mu.Unlock()
	r.work.Wait()
}
