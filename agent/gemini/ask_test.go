package gemini

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const stream = "/model/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse"

func ask(text string) string {
	data, _ := json.Marshal(text)
	return `{"contents":[{"role":"user","parts":[{"text":` + string(data) + `}]}]}`
}

func (o *opened) do(t testing.TB, method, path, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req := must(http.NewRequest(method, "http://sandbox"+path, strings.NewReader(body)))
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := o.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, string(data) + "<cut>"
	}
	return resp, string(data)
}

func TestModel(t *testing.T) {
	o := open(t, script(t, `
rules:
  - {when: say, chunks: 3, say: 'one two three'}
  - {when: busy, status: 429, retry_after: 3s}
`), nil)
	resp, body := o.do(t, "POST", stream, ask("say"), map[string]string{"x-goog-api-key": "placeholder"})
	if resp.StatusCode != 200 || !strings.Contains(body, "hree") || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v %s", resp, body)
	}
	if resp, body = o.do(t, "POST", stream, ask("busy"), nil); resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3" || !strings.Contains(body, "RESOURCE_EXHAUSTED") {
		t.Errorf("%v %s", resp, body)
	}
	if _, body = o.do(t, "POST", "/model/v1beta/models/gemini-3.1-pro-preview:countTokens", ask("12345678"), nil); !strings.Contains(body, `"totalTokens":2`) {
		t.Error(body)
	}
	if _, body = o.do(t, "GET", "/model/v1beta/models?pageSize=5", "", nil); !strings.Contains(body, "gemini-3.1-pro-preview") {
		t.Error(body)
	}
	u := o.usage(testRoom)
	if u.Requests != 3 || u.InputTokens < 1 || u.OutputTokens < 3 || u.InputTokens > 10 || u.OutputTokens > 10 {
		t.Errorf("usage %+v", u)
	}
	if u := o.usage("!nobody:x"); u != (Usage{}) {
		t.Errorf("usage of an unknown room %+v", u)
	}
}

// The request that leaves the host contains the real key once, and nothing that the container could have added to it.
func TestModelRequest(t *testing.T) {
	var got *http.Request
	var sent string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, sent = r, string(body)
	}))
	defer up.Close()
	o := open(t, up.URL+"/base/", nil)
	o.do(t, "POST", stream+"&key="+"placeholder"+"&access_token=x&$alt=media", `{"a":1}`, map[string]string{
		"X-Goog-Api-Key": "placeholder", "Authorization": "Bearer x", "Cookie": "a=b", "X-Http-Method-Override": "DELETE",
		"Proxy-Authorization": "x", "X-Forwarded-For": "1.2.3.4", "X-Goog-User-Project": "x",
		"Content-Type": "application/json", "X-Goog-Api-Client": "genai", "User-Agent": "GeminiCLI",
	})
	if got.URL.Path != "/base/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent" || got.URL.RawQuery != "alt=sse" || sent != `{"a":1}` {
		t.Errorf("%s, %q", got.URL, sent)
	}
	want := http.Header{
		"Content-Type": {"application/json"}, "X-Goog-Api-Client": {"genai"}, "User-Agent": {"GeminiCLI"},
		"X-Goog-Api-Key": {testKey}, "Content-Length": {"7"},
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(got.Host, "box") {
		t.Errorf("host %s", got.Host)
	}
}

func TestModelRefuses(t *testing.T) {
	reached := false
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer up.Close()
	o := open(t, up.URL, nil)
	for _, c := range []struct{ method, path string }{
		{"GET", "/model/v1beta/files"}, {"POST", "/model/upload/v1beta/files"}, {"GET", "/model/v1beta/cachedContents"},
		{"POST", "/model/v1beta/models/m:predict"}, {"POST", "/model/v1beta/models/m:generateContent/x"},
		{"POST", "/model/v1beta/models/a/b:generateContent"}, {"POST", "/model/v1beta/tunedModels/m:generateContent"},
		{"POST", "/model/v1beta/models"}, {"GET", "/model/v1beta/models/m:generateContent"}, {"DELETE", "/model/v1beta/models/m"},
		{"POST", "/model/v1beta/models/..%2Ffiles:generateContent"}, {"POST", "/model/v1beta/models/%6D:generateContent"},
		{"GET", "/model/v1beta/models/../files"}, {"GET", "/model//v1beta/models"},
		{"GET", "/model/_script/requests"},
	} {
		resp, body := o.do(t, c.method, c.path, "", nil)
		if resp.StatusCode != 404 || !strings.Contains(body, `"NOT_FOUND"`) {
			t.Errorf("%s %s: %d %s", c.method, c.path, resp.StatusCode, body)
		}
		if reached {
			t.Fatalf("%s %s went through", c.method, c.path)
		}
	}
	for _, code := range []int{301, 307, 304} {
		away := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/?k="+testKey, code))
		o := open(t, away.URL, nil)
		if resp, body := o.do(t, "GET", "/model/v1beta/models", "", nil); resp.StatusCode != 502 || resp.Header.Get("Location") != "" {
			t.Errorf("redirection %d: %v %s", code, resp, body)
		}
		away.Close()
	}
}

func TestModelUnreachable(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close() // now nothing listens there
	o := open(t, "http://"+ln.Addr().String(), nil)
	resp, body := o.do(t, "POST", stream, ask("x"), nil)
	var e struct {
		Error struct {
			Code            int
			Message, Status string
		}
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || resp.StatusCode != 503 || e.Error.Code != 503 || e.Error.Status != "UNAVAILABLE" {
		t.Errorf("%v %s", resp, body)
	}
	if strings.Contains(body, "127.0.0.1") {
		t.Errorf("the container learns the address of the model's server: %s", body)
	}
	if !strings.Contains(o.log.String(), "cannot reach") {
		t.Error("it is not in the log")
	}
}

func TestModelBodyLimit(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer up.Close()
	o := open(t, up.URL, nil)
	for name, length := range map[string]int64{"announced": maxBody + 1, "not announced": -1} {
		size := max(length, 5<<20)
		req := must(http.NewRequest("POST", "http://sandbox"+stream, io.LimitReader(zeros{}, size)))
		req.ContentLength = length
		resp, err := o.client.Do(req)
		if err != nil {
			if name == "announced" { // the answer may arrive before the whole body is sent
				continue
			}
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 413 {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
	if resp, _ := o.do(t, "POST", stream, ask(strings.Repeat("x", 1<<20)), nil); resp.StatusCode != 200 {
		t.Errorf("1 MiB: status %d", resp.StatusCode)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Formatting does not reveal the key.
func TestKeyIsNotSaid(t *testing.T) {
	o := open(t, "http://127.0.0.1:1", nil)
	if said := fmt.Sprintf("%v %+v %#v %s", o.cfg, o.cfg, o.cfg, &o.cfg) + fmt.Sprintf("%v %+v %#v", o.Route, o.Route, o.Route); strings.Contains(said, testKey) {
		t.Error(said)
	}
}
