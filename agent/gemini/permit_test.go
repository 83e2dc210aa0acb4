package gemini

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// The model is available only while a run is active, and only the model of that run.
func TestPermit(t *testing.T) {
	var reached atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer up.Close()
	o := open(t, up.URL, nil)
	o.End(testRoom, "run")
	o.End(testRoom, "other")
	model := func(name string) string { return "/model/v1beta/models/" + name + ":generateContent" }
	expect := func(what, method, path string, want int, words string) {
		t.Helper()
		before := reached.Load()
		resp, body := o.do(t, method, path, ask("x"), nil)
		if resp.StatusCode != want || !strings.Contains(body, words) {
			t.Errorf("%s: %d %s, want %d and %q", what, resp.StatusCode, body, want, words)
		}
		if passed := reached.Load() > before; passed != (want == 200) {
			t.Errorf("%s: reached the model's server: %v", what, passed)
		}
	}
	expect("no run", "POST", model("a"), 403, "no task is running")
	expect("no run, list", "GET", "/model/v1beta/models", 403, "no task is running")
	if u := o.usage(testRoom); u.Requests != 0 {
		t.Errorf("usage %+v", u)
	}
	o.Begin(testRoom, "r1", "models/a")
	o.Begin("!other:x", "r9", "c")
	expect("its model", "POST", model("a"), 200, "")
	expect("list", "GET", "/model/v1beta/models", 200, "")
	expect("another model", "POST", model("b"), 403, "the model b is not configured")
	expect("another room's model", "POST", model("c"), 403, "not configured")
	expect("embedding", "POST", "/model/v1beta/models/gemini-embedding-001:embedContent", 403, "not configured")
	o.Begin(testRoom, "r2", "b")
	expect("two runs", "POST", model("b"), 200, "")
	o.End(testRoom, "r1")
	expect("the ended one's", "POST", model("a"), 403, "not configured")
	o.Begin(testRoom, "r2", "a")
	expect("the model has changed", "POST", model("a"), 200, "")
	o.End(testRoom, "r2")
	o.End(testRoom, "r2")
	expect("all ended", "POST", model("a"), 403, "no task is running")
}

// Tools that run at the provider are billed per use, so a request may not contain any that is not allowed, in no form
// that Google's parser might understand.
func TestBilledTools(t *testing.T) {
	var reached atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer up.Close()
	o := open(t, up.URL, func(c *RouteConfig) { c.Tools = []string{"url_context"} })
	for _, c := range []struct {
		body, refused string // refused is a part of the answer; "" if the request passes
	}{
		{`{"contents":[{"parts":[{"text":"tools: googleSearch"}]}]}`, ""},
		{`{"contents":[],"tools":[]}`, ""},
		{`{"tools":[{"functionDeclarations":[{"name":"googleSearch","parameters":{"googleSearch":{}}}]}]}`, ""},
		{`{"tools":[{"function_declarations":[]},{"urlContext":{}},{"url_context":{}}]}`, ""},
		{`{"tools":[{"googleSearch":{}}]}`, "google_search"},
		{`{"tools":[{"google_search":{}}]}`, "google_search"},
		{`{"tools":[{"googleSearchRetrieval":{}}]}`, "google_search_retrieval"},
		{`{"tools":[{"functionDeclarations":[],"codeExecution":{}}]}`, "code_execution"},
		{`{"tools":[{"functionDeclarations":[]}],"contents":[],"tools":[{"googleMaps":{}}]}`, "google_maps"},
		{`{"t\u006fols":[{"google\u0053earch":{}}]}`, "google_search"},
		{`{"tools":{"googleSearch":{}}}`, "google_search"},
		{`{"tools":[[{"googleSearch":{}}]]}`, "not allowed"},
		{`{"tools":null}`, "not allowed"},
		{`{"tools":[{"anything_new":{}}]}`, "anything_new"},
		{`{"service_tier":"priority"}`, "service tier"},
		{`{"contents":[{"parts":[{"fileData":{"fileUri":"https://www.youtube.com/watch?v=x"}}]}]}`, "files at an address"},
		{`{"contents":{"parts":{"file_data":{}}}}`, "files at an address"},
		{`{"systemInstruction":{"parts":[{"file\u0044ata":null}]}}`, "files at an address"},
		{`{"requests":[{"content":{"parts":[{"fileData":{}}]}}]}`, "files at an address"},
		{`{"contents":[{"parts":[{"functionResponse":{"name":"f","parts":[{"fileData":{}}]}}]}]}`, "files at an address"},
		{`{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"fileData":1}}},{"functionResponse":{"response":{"fileData":{}}}},{"text":"fileData"}]}]}`, ""},
		{`{"contents":[` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `]}`, "not a JSON object"},
		{`{"cachedContent":"cachedContents/x"}`, "cached contents"},
		{`{'tools':[{'googleSearch':{}}]}`, "not a JSON object"},
		{`{tools:[{googleSearch:{}}]}`, "not a JSON object"},
		{`{"contents":[],}`, "not a JSON object"},
		{`{"a":1}{"tools":[{"googleSearch":{}}]}`, "not a JSON object"},
		{`[{"tools":[{"googleSearch":{}}]}]`, "not a JSON object"},
		{``, "not a JSON object"},
	} {
		before := reached.Load()
		resp, body := o.do(t, "POST", stream, c.body, nil)
		if c.refused != "" && (resp.StatusCode != 403 || !strings.Contains(body, c.refused) || !strings.Contains(body, "PERMISSION_DENIED")) {
			t.Errorf("%s: %d %s, want a refusal with %q", c.body, resp.StatusCode, body, c.refused)
		}
		if passed := reached.Load() > before; passed != (c.refused == "") {
			t.Errorf("%s: reached the model's server: %v", c.body, passed)
		}
	}
}
