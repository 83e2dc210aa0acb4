package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A room holds at most its share, and others cannot take all of it.
func TestShare(t *testing.T) {
	common := make(chan struct{}, 3)
	greedy, modest := newShare(1, 3, common), newShare(1, 3, common)
	take := func(s share) func() {
		t.Helper()
		give, err := s.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return give
	}
	full := func(s share, what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := s.take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var held []func()
	for range 3 {
		held = append(held, take(greedy))
	}
	full(greedy, "its share is taken")
	own, shared := take(modest), take(modest) // its own, and the last common one
	full(modest, "everything is taken")
	held[1]()
	again := take(modest)
	full(modest, "its share is taken")
	for _, give := range []func(){held[0], held[2], own, shared, again} {
		give()
	}
	if len(common)+len(greedy.most)+len(modest.most)+len(greedy.own)+len(modest.own) != 0 {
		t.Error("something is still held")
	}
}

// A container that asks a server of its own for huge headers, again and again, and reads nothing costs the bot little.
func TestHugeHeaders(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, c := range []struct {
		name    string
		size    int // of the header
		arrives int // how many requests arrive while nothing is read
		read    bool
	}{{"too large", 1 << 20, maxConns, true}, {"just not", maxHeaders - 1<<10, maxPlain, false}} {
		t.Run(c.name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			answered := make(chan bool, maxConns)
			header, asked := distinct(c.size), distinct(6<<10)
			go serveHeaders(ln, header, answered)
			o := open(t, "http://127.0.0.1:1", anywhere)
			var all []net.Conn
			for range maxConns {
				conn, err := o.connect()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				all = append(all, conn)
				fmt.Fprintf(conn, "GET http://%s/ HTTP/1.1\r\nHost: x\r\n%s\r\n", ln.Addr(), asked)
			}
			for range c.arrives {
				<-answered
			}
			for _, conn := range all {
				line := make([]byte, len("HTTP/1.1 502"))
				if !c.read {
					break
				}
				if _, err := io.ReadFull(conn, line); err != nil || string(line) != "HTTP/1.1 502" {
					t.Fatalf("%s, %v", line, err)
				}
			}
			if len(answered) > 0 {
				t.Errorf("%d requests more arrived", len(answered))
			}
			// What the first case has used is there for the second, so the bound is for both.
			runtime.ReadMemStats(&after)
			if grown := after.Sys - before.Sys; grown > 100<<20 {
				t.Errorf("%d MB", grown>>20)
			}
		})
	}
}

// distinct returns lines of a header with so many bytes, each with another name: they take most memory.
func distinct(size int) string {
	var lines strings.Builder
	for i := 0; lines.Len() < size; i++ {
		fmt.Fprintf(&lines, "%x:\r\n", i)
	}
	return lines.String()
}

// serveHeaders answers requests with a header of short lines, and a body without end.
func serveHeaders(ln net.Listener, header string, answered chan bool) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			_, err := io.WriteString(c, header)
			answered <- true
			_, _ = io.WriteString(c, "\r\n")
			for err == nil {
				_, err = c.Write(make([]byte, 32<<10))
			}
		}()
	}
}
