package agenttest

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

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

const streamURL = "/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse"

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
	_, _, body := post(t, url+"/v1/models/gemini-3.1-pro-preview:generateContent", user("go"))
	var one reply
	if err := json.Unmarshal([]byte(body), &one); err != nil || one.Candidates[0].Content.Parts[0].Text != "one two" {
		t.Errorf("%v in %s", err, body)
	}
	_, _, body = post(t, url+"/v1/models/gemini-3.1-pro-preview:streamGenerateContent", user("go"))
	var many []reply
	if err := json.Unmarshal([]byte(body), &many); err != nil || len(many) != 2 {
		t.Errorf("%v in %s", err, body)
	}
}

func bodyOf(_ int, _ http.Header, body string) string { return body }

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
		server.ServeHTTP(rec, httptest.NewRequest("POST", "/v1beta/models/gemini-3.1-pro-preview:generateContent", strings.NewReader(body)))
		return rec.Body.String()
	}
	tool := func(response string) string {
		return history(says("user", "write"), contentOf("model", signed("1", "write_file")),
			contentOf("user", `{"functionResponse":{"id":"1","name":"write_file","response":{"output":"`+response+`"}}}`))
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
		t.Errorf("the prompt around the task makes it write: %s", got)
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
