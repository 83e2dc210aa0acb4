package gemini

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Each piece arrives before the next one is made, and the key never does, however it is split.
func TestModelStreamsAndScrubs(t *testing.T) {
	next := make(chan bool)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Retry-After", testKey)
		w.Header().Set("X-Echo", testKey)
		for _, piece := range []string{"one\n", "two " + testKey[:10], testKey[10:] + "\n", "three\n"} {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
			<-next
		}
	}))
	defer up.Close()
	o := open(t, up.URL, nil)
	resp, err := o.client.Post("http://sandbox"+stream, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	line := func() string { s, _ := r.ReadString('\n'); return s }
	got := line()
	next <- true
	next <- true
	got += line()
	next <- true
	got += line()
	next <- true
	got += line()
	stars := strings.Repeat("*", len(testKey))
	if want := "one\ntwo " + stars + "\nthree\n"; got != want {
		t.Errorf("got %q", got)
	}
	if resp.Header.Get("Retry-After") != stars || resp.Header.Get("X-Echo") != "" {
		t.Errorf("header %v", resp.Header)
	}
}

// A stream that the model's server, or the end of the gateway, cuts off looks like a short one. In a chunked answer the
// cut would end the CLI's run.
func TestModelStreamEndsWithItsConnection(t *testing.T) {
	o := open(t, script(t, `
rules:
  - {when: cut, break: true, chunks: 3, say: 'one two three'}
  - {when: whole, say: x}
  - {when: later, chunks: 2, chunk_delay: 10m, say: 'one two'}
`), nil)
	for text, want := range map[string]string{"whole": "}\r\n\r\n", "cut": "\""} {
		resp, body := o.do(t, "POST", stream, ask(text), nil)
		if len(resp.TransferEncoding) != 0 || resp.ContentLength != -1 || !resp.Close || strings.HasSuffix(body, "<cut>") {
			t.Errorf("%s: %v %q", text, resp, body)
		}
		if (text == "whole") != strings.HasSuffix(body, want) {
			t.Errorf("%s: %q", text, body)
		}
	}
	resp, err := o.client.Post("http://sandbox"+stream, "application/json", strings.NewReader(ask("later")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := o.door.Shut(testRoom); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err != nil {
		t.Errorf("a shut gateway's stream ends with %v", err)
	}
}

// A model that is silent is abandoned, with an error that the CLI retries.
func TestModelSilence(t *testing.T) {
	leaks(t)
	o := open(t, script(t, `rules: [{when: never, hang: 10m}, {chunks: 2, chunk_delay: 10m, say: 'one two'}]`), func(c *RouteConfig) { c.idle = 100 * time.Millisecond })
	if resp, body := o.do(t, "POST", stream, ask("never"), nil); resp.StatusCode != 504 || !strings.Contains(body, "DEADLINE_EXCEEDED") {
		t.Errorf("%v %s", resp, body)
	}
	if resp, body := o.do(t, "POST", stream, ask("half"), nil); resp.StatusCode != 200 || !strings.Contains(body, "one") || strings.Contains(body, "two") {
		t.Errorf("%v %s", resp, body)
	}
}
