package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each request to the model is allowed and recorded, also one whose answer is cut before its numbers arrive.
func TestAccount(t *testing.T) {
	leaks(t)
	o := open(t, script(t, `
rules:
  - {when: cut, break: true, say: x}
  - {when: busy, status: 429}
  - {when: large, tokens: 500, say: 12345678}
`), nil)
	var mu sync.Mutex
	var used []Usage
	allowed := error(nil)
	o.Account(func(_ context.Context, room string) error { return allowed }, func(room string, u Usage) {
		mu.Lock()
		defer mu.Unlock()
		if used = append(used, u); room != testRoom {
			t.Errorf("recorded for %s", room)
		}
	})
	o.do(t, "POST", stream, ask("large"), nil)
	o.do(t, "POST", stream, ask("busy"), nil)
	o.do(t, "POST", "/model/v1beta/models/m:countTokens", ask("large"), nil)
	cut := ask("cut")
	o.do(t, "POST", stream, cut, nil)
	allowed = errors.New("all is used up")
	if resp, body := o.do(t, "POST", stream, ask("large"), nil); resp.StatusCode != 403 || !strings.Contains(body, "gateway: all is used up") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if err := o.Close(ended()); err != nil {
		t.Error(err)
	}
	var sum Usage
	for _, u := range used {
		sum = Usage{sum.Requests + u.Requests, sum.InputTokens + u.InputTokens, sum.CachedTokens + u.CachedTokens, sum.OutputTokens + u.OutputTokens}
	}
	if diff := cmp.Diff(Usage{Requests: 4, InputTokens: 500 + int64(len(cut)/4), OutputTokens: 2}, sum); diff != "" {
		t.Error(diff)
	}
}
