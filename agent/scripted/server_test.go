package scripted

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

const streamURL = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"

func start(t *testing.T, script string) (*Server, string) {
	t.Helper()
	s, err := Load([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server := New(s, zerolog.Nop())
	hs := httptest.NewServer(server)
	t.Cleanup(hs.Close)
	t.Cleanup(server.Close)
	return server, hs.URL
}

func user(text string) string {
	data, _ := json.Marshal(text)
	return `{"contents":[{"role":"user","parts":[{"text":` + string(data) + `}]}]}`
}

func post(t *testing.T, url, body string) (int, http.Header, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, resp.Header, string(data) + "<cut>"
	}
	return resp.StatusCode, resp.Header, string(data)
}

// events reads the replies of an SSE stream.
func events(t *testing.T, body string) []reply {
	t.Helper()
	var out []reply
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var r reply
			if err := json.Unmarshal([]byte(data), &r); err != nil {
				t.Fatalf("%v in %q", err, data)
			}
			out = append(out, r)
		}
	}
	return out
}

func TestStream(t *testing.T) {
	_, url := start(t, `rules: [{when: go, say: 'one two three', chunks: 3, call: [{name: a, args: {x: 1}}, {name: b}]}]`)
	_, h, body := post(t, url+streamURL, user("go"))
	if h.Get("Content-Type") != "text/event-stream" {
		t.Errorf("content type %q", h.Get("Content-Type"))
	}
	var text string
	var calls []string
	all := events(t, body)
	for _, r := range all {
		for _, p := range r.Candidates[0].Content.Parts {
			text += p.Text
			if p.FunctionCall != nil {
				calls = append(calls, fmt.Sprint(p.FunctionCall.Name, p.FunctionCall.Args))
			}
		}
	}
	if len(all) != 4 || text != "one two three" {
		t.Errorf("%d replies say %q", len(all), text)
	}
	if diff := cmp.Diff([]string{"amap[x:1]", "bmap[]"}, calls); diff != "" {
		t.Error(diff)
	}
	last := all[3]
	if last.Candidates[0].FinishReason != "STOP" || last.UsageMetadata.TotalTokenCount == 0 {
		t.Errorf("last reply %+v", last)
	}
}

func TestSingleAndArray(t *testing.T) {
	_, url := start(t, `rules: [{say: 'one two', chunks: 2}]`)
	_, _, body := post(t, url+"/v1/models/m:generateContent", user("go"))
	var one reply
	if err := json.Unmarshal([]byte(body), &one); err != nil || one.Candidates[0].Content.Parts[0].Text != "one two" {
		t.Errorf("%v in %s", err, body)
	}
	_, _, body = post(t, url+"/v1/models/m:streamGenerateContent", user("go"))
	var many []reply
	if err := json.Unmarshal([]byte(body), &many); err != nil || len(many) != 2 {
		t.Errorf("%v in %s", err, body)
	}
}

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
		t.Errorf("the retry of a rule used up got %s", body)
	}
	if status, _, body = post(t, url+streamURL, user("own")); status != 500 || body != `{"mine": 1}` {
		t.Errorf("%d %s", status, body)
	}
	for _, line := range strings.Split(first2(post(t, url+streamURL, user("garbage"))), "\n") {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && json.Valid([]byte(data)) {
			t.Errorf("garbage is JSON: %s", data)
		}
	}
	body = first2(post(t, url+streamURL, user("cut")))
	if !strings.HasSuffix(body, "<cut>") || !strings.Contains(body, "cccc") || strings.Contains(body, "totalTokenCount\":5") {
		t.Errorf("cut stream: %s", body)
	}
	if all := events(t, first2(post(t, url+streamURL, user("empty")))); len(all) != 1 || len(all[0].Candidates[0].Content.Parts) != 0 {
		t.Errorf("empty answer: %+v", all)
	}
	if text := events(t, first2(post(t, url+streamURL, user("bulk"))))[0].Candidates[0].Content.Parts[0].Text; len(text) != 100000 || !strings.HasPrefix(text, "n1 n2 n3 ") {
		t.Errorf("bulk has %d bytes: %.20s", len(text), text)
	}
	if status, _, body = post(t, url+streamURL, "{"); status != 400 {
		t.Errorf("%d %s", status, body)
	}
}

func first2(_ int, _ http.Header, body string) string { return body }

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

// A hang ends with its client or with the server, not in ten minutes.
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
			t.Error("an answer came out of the silence")
		}
	}
}

func TestOwnQuestionsUseNoRule(t *testing.T) {
	s, url := start(t, `rules: [{times: 1, say: 'for the user'}]`)
	_, _, body := post(t, url+"/v1beta/models/m:generateContent", question)
	if !strings.Contains(body, `"text":"{}"`) {
		t.Errorf("question got %s", body)
	}
	if _, _, body = post(t, url+"/v1beta/models/m:generateContent", digest); !strings.Contains(body, "state_snapshot") {
		t.Errorf("digest got %s", body)
	}
	if _, _, body = post(t, url+streamURL, user("hello")); !strings.Contains(body, "for the user") {
		t.Errorf("user got %s", body)
	}
	if _, _, body = post(t, url+streamURL, user("again")); !strings.Contains(body, "scripted answer") {
		t.Errorf("second user got %s", body)
	}
	var rules []int
	for _, r := range s.Requests() {
		rules = append(rules, r.Rule)
	}
	if diff := cmp.Diff([]int{0, 0, 1, 0}, rules); diff != "" {
		t.Error(diff)
	}
}

func TestOtherMethods(t *testing.T) {
	_, url := start(t, `rules: []`)
	if _, _, body := post(t, url+"/v1beta/models/m:countTokens", user("12345678")); !strings.Contains(body, `"totalTokens":2`) {
		t.Error(body)
	}
	embed := func(text string) []float64 {
		var r struct{ Embedding values }
		_, _, body := post(t, url+"/v1beta/models/e:embedContent", `{"content":{"parts":[{"text":"`+text+`"}]},"outputDimensionality":512}`)
		if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Embedding.Values) != 512 {
			t.Fatalf("%v in %s", err, body)
		}
		return r.Embedding.Values
	}
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	a, b, c := embed("a prime checker in Go"), embed("the prime checker"), embed("bake some bread")
	if dot(a, b) <= dot(a, c) {
		t.Error("texts that share words are not nearer")
	}
	_, _, body := post(t, url+"/v1beta/models/e:batchEmbedContents", `{"requests":[{"content":{"parts":[{"text":"x"}]}},{"content":{"parts":[{"text":"y"}]}}]}`)
	if strings.Count(body, `"values"`) != 2 {
		t.Error(body)
	}
	for path, want := range map[string]int{"/v1beta/models": 200, "/v1beta/models/x": 200, "/v1beta/files": 404, "/": 404} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s is %d", path, resp.StatusCode)
		}
	}
}

func TestKey(t *testing.T) {
	s, err := Load([]byte("default: {say: x}"))
	if err != nil {
		t.Fatal(err)
	}
	server := New(s, zerolog.Nop())
	server.RequireKey("right")
	for key, want := range map[string]int{"right": 200, "wrong": 400, "": 400} {
		req := httptest.NewRequest("POST", streamURL, strings.NewReader(user("x")))
		req.Header.Set("x-goog-api-key", key)
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, req)
		if rec.Code != want {
			t.Errorf("key %q: %d", key, rec.Code)
		}
	}
}

func TestControl(t *testing.T) {
	_, url := start(t, `rules: [{say: old}]`)
	post(t, url+streamURL, user("one"))
	put := func(script string) int {
		req, _ := http.NewRequest("PUT", url+"/_script/rules", strings.NewReader(script))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := put("rules: [{say: new}]"); got != 204 {
		t.Errorf("PUT is %d", got)
	}
	if got := put("rules: [{sya: new}]"); got != 400 {
		t.Errorf("PUT of nonsense is %d", got)
	}
	if _, _, body := post(t, url+streamURL, user("two")); !strings.Contains(body, "new") {
		t.Error(body)
	}
	resp, err := http.Get(url + "/_script/requests?since=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got []Request
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || len(got) != 1 || got[0].Seq != 2 || got[0].User != "two" {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestRecordIsBounded(t *testing.T) {
	var l record
	for range maxRequests + 10 {
		l.add(Request{})
	}
	if len(l.list) != maxRequests || l.since(0)[0].Seq != 11 {
		t.Errorf("%d requests kept, first %d", len(l.list), l.since(0)[0].Seq)
	}
	big := strings.Repeat("x", maxText/4)
	for range 10 {
		l.add(Request{Text: big})
	}
	if l.bytes > maxText || len(l.list) > 4 {
		t.Errorf("%d bytes in %d requests kept", l.bytes, len(l.list))
	}
}

func TestDemo(t *testing.T) {
	server := New(Demo(), zerolog.Nop())
	ask := func(body string) string {
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, httptest.NewRequest("POST", "/v1beta/models/m:generateContent", strings.NewReader(body)))
		return rec.Body.String()
	}
	tool := func(response string) string {
		return `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"write_file","response":{"output":"` + response + `"}}}]}]}`
	}
	const wrapper = "Read /workspace/context.md first, then write a line.\n[alice]: %s\nAfter completing the task, append a line."
	for name, c := range map[string]struct{ body, want string }{
		"talk":    {user(fmt.Sprintf(wrapper, "how are you?")), `"finishReason":"STOP"`},
		"write":   {user(fmt.Sprintf(wrapper, "Write a poem")), `/workspace/note.md`},
		"prime":   {user(fmt.Sprintf(wrapper, "write a prime checker")), `/workspace/prime.py`},
		"written": {tool("wrote it"), "is written"},
		"failed":  {tool("Error: no"), "could not be written"},
	} {
		got := ask(c.body)
		if !strings.Contains(got, c.want) || !strings.Contains(got, "I am a scripted model, not Gemini") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := ask(user(fmt.Sprintf(wrapper, "how are you?"))); strings.Contains(got, "write_file") {
		t.Errorf("the wrapper's own words make it write: %s", got)
	}
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended, url := make(chan error, 1), make(chan string, 1)
	go func() { ended <- New(Demo(), zerolog.Nop()).Serve(ctx, "127.0.0.1:0", func(u string) { url <- u }) }()
	if status, _, _ := post(t, <-url+streamURL, user("x")); status != 200 {
		t.Errorf("status %d", status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := New(Demo(), zerolog.Nop()).Serve(context.Background(), "256.0.0.1:1", nil); err == nil {
		t.Error("served on no address")
	}
}
