package gemini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each request to the model is allowed and recorded, also one whose answer is cut before its numbers arrive.
func TestAccount(t *testing.T) {
	leaks(t)
	o := open(t, script(t, `
rules:
  - {when: cut, break: true, say: x}
  - {when: busy, status: 429}
  - {when: large, tokens: 500, say: 12345678, finish: MAX_TOKENS}
`), nil)
	var mu sync.Mutex
	var used []Usage
	allowed := error(nil)
	o.Account(func(_ context.Context, room string, _ int64) error { return allowed }, func(room string, u Usage) {
		mu.Lock()
		defer mu.Unlock()
		if used = append(used, u); room != testRoom {
			t.Errorf("recorded for %s", room)
		}
	})
	o.do(t, "POST", stream, ask("large"), nil)
	if n := o.LastPrompt(testRoom); n != 500 {
		t.Errorf("the last prompt has %d tokens", n)
	}
	if why := o.LastFinish(testRoom); why != "MAX_TOKENS" {
		t.Errorf("the stream ended because of %q", why)
	}
	o.do(t, "POST", stream, ask("busy"), nil)
	if why := o.LastFinish(testRoom); why != "" {
		t.Errorf("a refused request ended because of %q", why)
	}
	o.do(t, "POST", "/model/v1beta/models/m:countTokens", ask("large"), nil)
	cut := ask("cut")
	o.do(t, "POST", stream, cut, nil)
	allowed = errors.New("all is used up")
	if resp, body := o.do(t, "POST", stream, ask("large"), nil); resp.StatusCode != 403 || !strings.Contains(body, "gateway: all is used up") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if n := o.LastPrompt(testRoom); n != 500 {
		t.Errorf("the last prompt that was answered has %d tokens", n)
	}
	o.Begin(testRoom, "next", "m")
	if n := o.LastPrompt(testRoom) + o.LastPrompt("!other"); n != 0 {
		t.Errorf("before its first answer, a run has %d tokens", n)
	}
	o.close(t)
	var all Usage
	for _, u := range used {
		all = sum(all, u)
	}
	if diff := cmp.Diff(Usage{Requests: 4, InputTokens: 500 + int64(len(cut)/4), OutputTokens: 2}, all); diff != "" {
		t.Error(diff)
	}
}

// So is one for whose answer nobody waits: whoever hangs up early uses the model, too. One that never arrived is not.
func TestAccountHungUp(t *testing.T) {
	leaks(t)
	ctx, hangUp := context.WithTimeout(t.Context(), time.Minute)
	defer hangUp()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		hangUp()
		<-r.Context().Done()
	}))
	o := open(t, server.URL, nil)
	used := make(chan Usage, 2)
	o.Account(func(context.Context, string, int64) error { return nil }, func(_ string, u Usage) { used <- u })
	body := ask(strings.Repeat("long ", 1000))
	request, err := http.NewRequestWithContext(ctx, "POST", "http://gateway"+stream, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := o.client.Do(request); err == nil {
		resp.Body.Close()
		t.Fatalf("answered with %d", resp.StatusCode)
	}
	server.Close()
	if resp, _ := o.do(t, "POST", stream, body, nil); resp.StatusCode != 503 {
		t.Errorf("answered with %d", resp.StatusCode)
	}
	o.close(t)
	close(used)
	var all []Usage
	for u := range used {
		all = append(all, u)
	}
	if diff := cmp.Diff([]Usage{{Requests: 1, InputTokens: int64(len(body) / 4)}}, all); diff != "" {
		t.Error(diff)
	}
}
