package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Silent connections of many addresses keep out a real one until their time is over, and no longer.
func TestSilent(t *testing.T) {
	w := newWorld(t, func(d *Door) { d.tokenTime = 3 * time.Second })
	begun := time.Now()
	for i := range maxStrangers / maxOfAddress {
		w.crowd(byte(i+2), maxOfAddress)
	}
	w.wait("crowd", func() bool { return len(w.door.strangers) == maxStrangers })
	if got := w.answer(theToken + "\n"); got != "welcome" {
		t.Errorf("the answer is %s", got)
	}
	if took := time.Since(begun); took < w.door.tokenTime || took > 10*time.Second {
		t.Errorf("after %v", took)
	}
}

// Silent connections of one address keep out nobody else, and what is too many of them is closed at once.
func TestSilentPod(t *testing.T) {
	w := newWorld(t)
	begun := time.Now()
	conns := w.crowd(2, 2*maxStrangers)
	w.wait("end of the excess", func() bool { return conns() == maxOfAddress })
	if got := w.answer(theToken + "\n"); got != "welcome" {
		t.Errorf("the answer is %s", got)
	}
	if took := time.Since(begun); took > w.door.tokenTime/2 {
		t.Errorf("after %v", took)
	}
	if !strings.Contains(w.logs.String(), "too many connections") {
		t.Errorf("the log is %s", w.logs)
	}
}

// All pods of a node, which may have one address, are back soon after a restart of the bot.
func TestNodeComesBack(t *testing.T) {
	const pods, reviewTakes = 110, 30 * time.Millisecond
	w := newWorld(t, func(d *Door) {
		d.join = func(context.Context, string) (net.Conn, error) { here, _ := net.Pipe(); return here, nil }
		review := d.verdicts.review
		d.verdicts.review = func(ctx context.Context, token string) (string, error) {
			time.Sleep(reviewTakes)
			return review(ctx, token)
		}
	})
	begun := time.Now()
	var all sync.WaitGroup
	var tries atomic.Int64
	for i := range pods {
		all.Go(func() {
			for time.Since(begun) < soon {
				one := w.dial()
				tries.Add(1)
				if _, err := fmt.Fprintf(one, "%s%d\n", theToken, i); err == nil && heard(one) == "welcome" {
					return
				}
				time.Sleep(relayPause/2 + rand.N(relayPause/2))
			}
			t.Error("a pod is not back")
		})
	}
	all.Wait()
	t.Logf("MEASURED %d pods with one address: back after %v and %d tries", pods, time.Since(begun), tries.Load())
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("%v", took)
	}
}

// relayPause is the longest pause of a relay before it comes again.
const relayPause = 500 * time.Millisecond

// crowd opens connections that say nothing, from 127.0.0.HOST. It returns a function that counts those that are open.
func (w *world) crowd(host byte, n int) func() int {
	w.t.Helper()
	var open atomic.Int64
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, host)}}
	for range n {
		conn, err := dialer.Dial("tcp", w.address)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { conn.Close() })
		open.Add(1)
		go func() {
			_, _ = conn.Read(make([]byte, 1))
			open.Add(-1)
		}()
	}
	return func() int { return int(open.Load()) }
}
