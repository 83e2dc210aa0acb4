package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// Close lets answers finish, accepts nothing new, and cuts what is left when its context ends.
func TestClose(t *testing.T) {
	leaks(t)
	address := script(t, `
rules:
  - {when: soon, chunks: 2, chunk_delay: 200ms, say: 'first second'}
  - {when: never, chunks: 2, chunk_delay: 10m, say: 'first second'}
`)
	model, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	o := open(t, address, nil)
	read := func(text string) (begun chan bool, all chan string) {
		begun, all = make(chan bool), make(chan string, 1)
		go func() {
			resp, err := o.client.Post("http://sandbox"+stream, "application/json", strings.NewReader(ask(text)))
			if err != nil {
				all <- err.Error()
				close(begun)
				return
			}
			defer resp.Body.Close()
			r := bufio.NewReader(resp.Body)
			line, _ := r.ReadString('\n')
			close(begun)
			rest, _ := io.ReadAll(r)
			all <- line + string(rest)
		}()
		return begun, all
	}
	begun, all := read("soon")
	<-begun
	closed := make(chan error)
	go func() { closed <- o.Close(t.Context()) }()
	for { // until it accepts nothing more
		c, err := o.connect()
		if err != nil {
			break
		}
		c.Close()
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if got := <-all; !strings.Contains(got, "second") {
		t.Errorf("an answer in progress was cut: %s", got)
	}

	o.Gateway = New(o.cfg)
	o.begin(model)
	if _, err := o.Open(testRoom); err != nil {
		t.Fatal(err)
	}
	begun, all = read("never")
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := o.Close(ctx); err != nil {
		t.Error(err)
	}
	if got := <-all; !strings.Contains(got, "first") || strings.Contains(got, "second") {
		t.Errorf("an answer without end gave %s", got)
	}
}

// Connections beyond the limit wait for a free slot.
func TestConnectionCap(t *testing.T) {
	leaks(t)
	o := open(t, script(t, "rules: []"), nil)
	var held []net.Conn
	for range maxConns {
		c, err := o.connect()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	answered := make(chan error, 1)
	go func() {
		resp, err := o.client.Get("http://sandbox/model/v1beta/models")
		if err == nil {
			resp.Body.Close()
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("answered beyond the limit: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	for _, c := range held {
		c.Close()
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// The log reveals nothing of a request.
func TestNothingSecretIsSaid(t *testing.T) {
	o := open(t, script(t, `rules: [{say: hello}]`), func(c *Config) { c.Log = c.Log.Level(zerolog.TraceLevel) })
	for _, req := range []*http.Request{
		must(http.NewRequest("POST", "http://sandbox"+stream+"&key=query-secret", strings.NewReader(ask("body-secret")))),
		must(http.NewRequest("GET", "http://sandbox/model/v1beta/files?token=query-secret", nil)),
		must(http.NewRequest("SECRET-METHOD", "http://sandbox/path-secret", nil)),
	} {
		resp, err := o.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if err := o.Shut(testRoom); err != nil { // by now the lines are written
		t.Fatal(err)
	}
	log := o.log.String()
	if strings.Count(log, "gateway request") != 3 || !strings.Contains(log, `"status":404`) || !strings.Contains(log, testRoom) {
		t.Errorf("log: %s", log)
	}
	for _, secret := range []string{"secret", "SECRET"} {
		if strings.Contains(log, secret) {
			t.Errorf("%s is in %s", secret, log)
		}
	}
}
