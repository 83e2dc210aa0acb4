package gemini

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestGateAfter(t *testing.T) {
	start := time.Date(2026, 11, 26, 14, 0, 0, 0, time.UTC)
	quota := func(retry time.Duration) *Refusal {
		return &Refusal{Kind: Quota, Status: 429, Retry: retry}
	}
	day := &Refusal{Kind: Quota, Status: 429, PerDay: true}
	overload := &Refusal{Kind: Overload, Status: 503}
	for name, c := range map[string]struct {
		answers []*Refusal      // each comes when the gate opens
		want    []time.Duration // how long the gate is closed then
		named   bool            // the last time
	}{
		"a time":               {[]*Refusal{quota(41 * time.Second)}, []time.Duration{42 * time.Second}, true},
		"a short time":         {[]*Refusal{quota(time.Second), quota(time.Second), quota(time.Second)}, []time.Duration{0, 0, 2 * time.Second}, true},
		"no time":              {[]*Refusal{quota(0), quota(0), quota(0), quota(0), quota(0)}, []time.Duration{0, 0, 15 * time.Second, 30 * time.Second, time.Minute}, false},
		"no time, but a day":   {[]*Refusal{day, day}, []time.Duration{15 * time.Second, 30 * time.Second}, false},
		"overload":             {[]*Refusal{overload, overload, overload, overload}, []time.Duration{0, 0, 15 * time.Second, 30 * time.Second}, false},
		"a time that is wrong": {[]*Refusal{quota(9 * time.Second), quota(9 * time.Second), quota(time.Hour)}, []time.Duration{10 * time.Second, 30 * time.Second, time.Hour + time.Second}, true},
	} {
		now, g := start, gate{}
		for i, r := range c.answers {
			g = g.after(r, now)
			if got := max(g.Until.Sub(now), 0); got != c.want[i] {
				t.Errorf("%s: closed for %s after refusal %d, want %s", name, got, i+1, c.want[i])
			}
			if early := g.after(r, now); g.Until.After(now) && early != g {
				t.Errorf("%s: a request from before changes the gate", name)
			}
			now = now.Add(max(c.want[i], time.Second))
		}
		if g.Named != c.named || g.refused != len(c.answers) {
			t.Errorf("%s: named %v, %d refused", name, g.Named, g.refused)
		}
	}
	g := gate{}
	for range 100 {
		g = g.after(overload, g.Until)
	}
	if before := g.Until; g.after(overload, before).Until.Sub(before) != longPause {
		t.Error("the pauses grow without limit")
	}
}

// While a model is closed, nothing is sent to it.
func TestGate(t *testing.T) {
	var mu sync.Mutex
	now, sent := time.Date(2026, 11, 26, 14, 0, 0, 0, time.UTC), 0
	arrived, answers := make(chan bool), make(chan string)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		sent++
		mu.Unlock()
		arrived <- true
		if body := <-answers; body != "" {
			w.WriteHeader(http.StatusTooManyRequests)
			w.Write([]byte(body))
		}
	}))
	defer up.Close()
	o := open(t, up.URL, func(c *RouteConfig) {
		c.now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	const used = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"41s"}]}}`
	type got struct {
		status int
		body   string
	}
	results := make(chan got)
	post := func() {
		resp, body := o.do(t, "POST", stream, ask("x"), nil)
		results <- got{resp.StatusCode, body}
	}
	closed := func(want bool) {
		t.Helper()
		c, is := o.Closed("models/gemini-3.1-pro-preview")
		if is != want || is && (c.Kind != Quota || !c.Named) {
			t.Errorf("closed: %v, %+v", is, c)
		}
	}
	for round := range 2 {
		go post()
		<-arrived
		answers <- used
		if r := <-results; r.status != http.StatusForbidden || !strings.Contains(r.body, "gateway: the model takes no requests until 2026-11-26T14:0") {
			t.Errorf("round %d: %+v", round, r)
		}
		closed(true)
		go post()
		if r := <-results; r.status != http.StatusForbidden || sent != 1+round {
			t.Errorf("%+v; %d requests were sent", r, sent)
		}
		mu.Lock()
		now = now.Add(42 * time.Second)
		mu.Unlock()
		closed(false)
	}
	if n, wait := o.Limited(); n != 2 || wait != 0 {
		t.Errorf("%d refusals in a row, for %s", n, wait)
	}
	go post()
	<-arrived
	answers <- ""
	if r := <-results; r.status != http.StatusOK {
		t.Errorf("%+v", r)
	}
	if len(o.gates.models) != 0 {
		t.Error("a gate is left")
	}
}
