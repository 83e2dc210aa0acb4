package gemini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// What the gateway cannot judge or count does not reach the model's server: other formats, and models that are no names.
func TestFormats(t *testing.T) {
	headers := make(chan http.Header, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { headers <- r.Header }))
	defer server.Close()
	o := open(t, server.URL, nil)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"POST", stream + "&alt=proto", 400},
		{"POST", "/model/v1beta/models/m:generateContent?alt=proto", 400},
		{"POST", "/model/v1beta/models/m:generateContent?alt=", 400},
		{"POST", "/model/v1beta/models/m:generateContent?alt=json", 200},
		{"POST", "/model/v1beta/models/..:generateContent", 404},
		{"GET", "/model/v1beta/models?alt=media", 400},
		{"GET", "/model/v1beta/models/..", 404},
		{"GET", "/model/v1beta/models/.hidden", 404},
		{"GET", "/model/v1beta/models/m", 200},
	} {
		body := ""
		if c.method == "POST" {
			body = ask("x")
		}
		resp, said := o.do(t, c.method, c.path, body, map[string]string{"Content-Type": "application/x-protobuf", "Accept": "application/x-protobuf"})
		if resp.StatusCode != c.want {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, resp.StatusCode, said, c.want)
		}
		if len(headers) != map[bool]int{true: 1}[c.want == 200] {
			t.Fatalf("%s %s: %d requests arrived", c.method, c.path, len(headers))
		}
		if c.want != 200 {
			continue
		}
		if h, want := <-headers, map[string]string{"POST": "application/json"}[c.method]; h.Get("Content-Type") != want || h.Get("Accept") != "" {
			t.Errorf("%s %s: %v", c.method, c.path, h)
		}
	}
}

// A room has few requests at once, and those that are not answered yet count when the next one is allowed.
func TestRequestsAtOnce(t *testing.T) {
	leaks(t)
	arrived, answer := make(chan bool, 100), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-answer
		io.WriteString(w, `{"usageMetadata":{"promptTokenCount":1000000}}`)
	}))
	defer server.Close()
	o := open(t, server.URL, nil)
	body := ask(strings.Repeat("long ", 1000))
	size := int64(len(body) / 4)
	var spent, most atomic.Int64
	o.Account(func(_ context.Context, _ string, open int64) error {
		most.Store(max(most.Load(), open))
		if spent.Load()+open >= 2*size {
			return errors.New("used up")
		}
		return nil
	}, func(_ string, u Usage) { spent.Add(u.InputTokens + u.OutputTokens) })
	var all sync.WaitGroup
	var refused atomic.Int64
	for range 50 {
		all.Go(func() {
			resp, err := o.client.Post("http://gateway/model/v1beta/models/m:generateContent", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode == 403 {
				refused.Add(1)
			}
		})
	}
	<-arrived
	<-arrived // the third one is refused until these are answered, and then because of what they cost
	close(answer)
	all.Wait()
	o.close(t)
	if n := 2 + len(arrived); n > maxAsks || int(refused.Load()) != 50-n || most.Load() > maxAsks*size {
		t.Errorf("%d requests arrived, %d were refused, %d tokens of a room were open", n, refused.Load(), most.Load())
	}
}

// A container that hangs up after a function call's arguments with numbers of its own pays for its request.
func TestForgedNumbers(t *testing.T) {
	cut := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"totalTokens":1,"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":0},"x":"`)
		w.(http.Flusher).Flush()
		<-cut
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	o := open(t, server.URL, nil)
	used := make(chan Usage, 1)
	o.Account(func(context.Context, string, int64) error { return nil }, func(_ string, u Usage) { used <- u })
	body := ask(strings.Repeat("long ", 1000))
	resp, err := o.client.Post("http://gateway"+stream, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	close(cut)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if u := <-used; u.InputTokens != int64(len(body)/4) {
		t.Errorf("counted %+v", u)
	}
}
