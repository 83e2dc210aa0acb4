package matrix

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// pipes is a listener whose connections stay within the process, so that the clock of a
// test can stand still while they are open.
type pipes struct {
	come   chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// slowly runs f with an account whose homeserver answers with serve. The time is the
// bubble's: nobody waits.
func slowly(t *testing.T, serve http.HandlerFunc, f func(t *testing.T, a *Account)) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: serve}
		go func() { _ = server.Serve(l) }()
		a, err := New(Config{Homeserver: "http://home", User: self, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			l.come <- theirs
			return ours, nil
		}}
		a.clock.next = transport
		f(t, a)
		transport.CloseIdleConnections()
		_ = server.Close()
		synctest.Wait()
	})
}

// A sync may take ten minutes if the homeserver keeps sending.
func TestSyncTrickles(t *testing.T) {
	slowly(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 20 {
			time.Sleep(30 * time.Second)
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, `{"next_batch":"s1"}`)
	}, func(t *testing.T, a *Account) {
		for _, since := range []string{"", "s0"} {
			batch, err := a.Sync(t.Context(), since, 0)
			if err != nil || batch.Next != "s1" || a.Waiting() {
				t.Errorf("since %q: %v, %v, waiting %v", since, batch, err, a.Waiting())
			}
		}
	})
}

// An initial sync may take 20 minutes until the first byte, and counts as waiting. A sync
// that was answered in part is given up after a minute of silence.
func TestSyncSilence(t *testing.T) {
	const slow = 20 * time.Minute
	slowly(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("since") == "" {
			time.Sleep(slow)
		} else {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"next_batch":"s1"}`)
	}, func(t *testing.T, a *Account) {
		begun := time.Now()
		time.AfterFunc(slow-time.Second, func() {
			if !a.Waiting() {
				t.Error("it is not waiting")
			}
		})
		if _, err := a.Sync(t.Context(), "", 0); err != nil || time.Since(begun) != slow {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		begun = time.Now()
		_, err := a.Sync(t.Context(), "s1", 0)
		if took := time.Since(begun); !Transient(err) || took != maxPause || !a.Waiting() {
			t.Errorf("after %s: %v, waiting %v", took, err, a.Waiting())
		}
	})
}

// A homeserver that accepts a sync and never answers gets more time with each attempt; a
// dead connection is noticed soon.
func TestSyncNeverAnswered(t *testing.T) {
	slowly(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(t *testing.T, a *Account) {
		for _, want := range []time.Duration{90 * time.Second, 2*time.Minute + 30*time.Second, 4*time.Minute + 30*time.Second} {
			begun := time.Now()
			if _, err := a.Sync(t.Context(), "s0", 30*time.Second); !Transient(err) || time.Since(begun) != want {
				t.Errorf("after %s, want %s: %v", time.Since(begun), want, err)
			}
		}
		begun := time.Now()
		if _, err := a.Sync(t.Context(), "", 0); !Transient(err) || time.Since(begun) != maxAnswer {
			t.Errorf("an initial one after %s: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Sync(ctx, "s0", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
