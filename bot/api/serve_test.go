package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestServeSaysWhere(t *testing.T) {
	var log bytes.Buffer
	base, stop := serving(t, http.NotFoundHandler(), zerolog.New(&log))
	ask(t, "GET", base, "")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	var line struct{ Message, Address string }
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Message != "listening" || "http://"+line.Address != base {
		t.Errorf("log %s, want listening on %s", &log, base)
	}
	if _, err := net.Dial("tcp", line.Address); err == nil {
		t.Error("it still listens")
	}
}

// TestServeFinishes: a request in progress when the server ends is answered, and Serve returns after that.
func TestServeFinishes(t *testing.T) {
	s := &shelf{hold: make(chan struct{}), held: make(chan struct{})}
	base, stop := serving(t, New(s, testToken, zerolog.Nop()), zerolog.Nop())
	answered := make(chan reply, 1)
	go func() {
		answered <- ask(t, "POST", base+"/execute", `{"room":"`+testRoom+`","transcript":"x"}`, bearer, isjson)
	}()
	<-s.held
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	select {
	case err := <-ended:
		t.Fatalf("it ended (%v) before the answer", err)
	case <-time.After(50 * time.Millisecond): // it cannot end: a handler is running
	}
	close(s.hold)
	if got := <-answered; got.code != 202 {
		t.Errorf("%d %s", got.code, got.body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServeCuts: a request that does not finish is cut after its grace period, not before, and no handler keeps
// running. Nothing else ends this one.
func TestServeCuts(t *testing.T) {
	t.Parallel()                                                      // it waits for the end of the grace period
	s := &shelf{hold: make(chan struct{}), held: make(chan struct{})} // never released
	base, stop := serving(t, New(s, testToken, zerolog.Nop()), zerolog.Nop())
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"room":"` + testRoom + `","transcript":"x"}`
	if _, err := io.WriteString(conn, "POST /execute HTTP/1.1\r\nHost: x\r\n"+bearer+"\r\n"+isjson+"\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	<-s.held
	begun := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took < graceTime {
		t.Errorf("it was cut after %v, before the end of its grace", took)
	}
	if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
		t.Error("there was an answer")
	}
}

// TestLongHeader: a header is bounded too. The client may still be sending it
// when the connection is closed.
func TestLongHeader(t *testing.T) {
	base, _ := served(t, &shelf{}, testToken)
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Long", strings.Repeat("x", 2*maxHeader))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("code %d", resp.StatusCode)
	}
}
