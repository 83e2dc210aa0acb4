package agenttest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestFailures(t *testing.T) {
	_, url := start(t, `
rules:
  - {when: busy, times: 1, status: 429, retry_after: 1500ms}
  - {when: busy, say: better}
  - {when: own, status: 500, body: '{"mine": 1}'}
  - {when: garbage, garbage: true}
  - {when: cut, break: true, chunks: 4, say: 'aaaabbbbccccdddd'}
  - {when: empty, empty: true}
  - {when: bulk, say_repeat: {text: 'n{{n}} ', bytes: 100000}}
`)
	status, h, body := post(t, url+streamURL, user("busy"))
	if status != 429 || h.Get("Retry-After") != "2" || !strings.Contains(body, `"retryDelay":"1.5s"`) || !strings.Contains(body, "RESOURCE_EXHAUSTED") {
		t.Errorf("%d %v %s", status, h, body)
	}
	if _, _, body = post(t, url+streamURL, user("busy")); !strings.Contains(body, "better") {
		t.Errorf("after a rule was used up, the retry got %s", body)
	}
	if status, _, body = post(t, url+streamURL, user("own")); status != 500 || body != `{"mine": 1}` {
		t.Errorf("%d %s", status, body)
	}
	for _, line := range strings.Split(bodyOf(post(t, url+streamURL, user("garbage"))), "\n") {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && json.Valid([]byte(data)) {
			t.Errorf("garbage is JSON: %s", data)
		}
	}
	body = bodyOf(post(t, url+streamURL, user("cut")))
	if !strings.HasSuffix(body, "<cut>") || !strings.Contains(body, "cccc") || strings.Contains(body, "totalTokenCount\":5") {
		t.Errorf("cut stream: %s", body)
	}
	if all := events(t, bodyOf(post(t, url+streamURL, user("empty")))); len(all) != 1 || len(all[0].Candidates[0].Content.Parts) != 0 {
		t.Errorf("empty answer: %+v", all)
	}
	if text := events(t, bodyOf(post(t, url+streamURL, user("bulk"))))[0].Candidates[0].Content.Parts[0].Text; len(text) != 100000 || !strings.HasPrefix(text, "n1 n2 n3 ") {
		t.Errorf("bulk has %d bytes: %.20s", len(text), text)
	}
	if status, _, body = post(t, url+streamURL, "{"); status != 400 {
		t.Errorf("%d %s", status, body)
	}
}

func TestPauses(t *testing.T) {
	_, url := start(t, `
rules:
  - {when: delay, delay: 50ms, say: x}
  - {when: chunks, chunks: 3, chunk_delay: 20ms, say: abc}
`)
	for text, least := range map[string]time.Duration{"delay": 50 * time.Millisecond, "chunks": 40 * time.Millisecond} {
		begun := time.Now()
		post(t, url+streamURL, user(text))
		if took := time.Since(begun); took < least {
			t.Errorf("%s took %v", text, took)
		}
	}
}

// A hang ends when its client or the server ends, not after ten minutes.
func TestHang(t *testing.T) {
	s, url := start(t, `rules: [{hang: 10m}]`)
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan error, 2)
	ask := func(ctx context.Context) {
		req, _ := http.NewRequestWithContext(ctx, "POST", url+streamURL, strings.NewReader(user("x")))
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		asked <- err
	}
	go ask(ctx)
	go ask(context.Background())
	for len(s.Requests()) < 2 {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-asked:
		t.Fatalf("answered at once: %v", err)
	default:
	}
	cancel()
	s.Close()
	for range 2 {
		if err := <-asked; err == nil {
			t.Error("a hang was answered")
		}
	}
}
