package agenttest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func TestOtherMethods(t *testing.T) {
	_, url := start(t, `rules: []`)
	if _, _, body := post(t, url+"/v1beta/models/gemini-3.1-pro-preview:countTokens", user("12345678")); !strings.Contains(body, `"totalTokens":2`) {
		t.Error(body)
	}
	embed := func(text string) []float64 {
		var r struct{ Embedding values }
		_, _, body := post(t, url+"/v1beta/models/gemini-embedding-001:embedContent", `{"content":{"parts":[{"text":"`+text+`"}]},"outputDimensionality":512}`)
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
		t.Error("texts that share words are not closer")
	}
	_, _, body := post(t, url+"/v1beta/models/gemini-embedding-001:batchEmbedContents", `{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"x"}]}},{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"y"}]}}]}`)
	if strings.Count(body, `"values"`) != 2 {
		t.Error(body)
	}
	for path, want := range map[string]int{"/v1beta/models": 200, "/v1beta/models/gemini-2.5-pro": 200, "/v1beta/models/x": 404, "/v1beta/files": 404, "/": 404} {
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
	for key, want := range map[string]int{"right": 200, "wrong": 400, "": 403} {
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

func TestOwnQuestionsUseNoRule(t *testing.T) {
	s, url := start(t, `rules: [{times: 1, say: 'for the user'}]`)
	_, _, body := post(t, url+"/v1beta/models/gemini-3.1-pro-preview:generateContent", question)
	if !strings.Contains(body, `"text":"{}"`) {
		t.Errorf("question got %s", body)
	}
	if _, _, body = post(t, url+"/v1beta/models/gemini-3.1-pro-preview:generateContent", digest); !strings.Contains(body, "state_snapshot") {
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
