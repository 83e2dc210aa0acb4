package agenttest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Answers that are not text: everything that the API may send instead.
func TestAnswersThatAreNotText(t *testing.T) {
	_, url := start(t, `
rules:
  - {when: thought, think: 'let me see', cached: 7, tool_tokens: 5, tokens: 100}
  - {when: both, think: 'let me see', say: 'one two', chunks: 2, thoughts: 30, call: [{name: a}, {name: b}]}
  - {when: bare, no_content: true, finish: PROHIBITED_CONTENT}
  - {when: cut, say: 'as far as', finish: MAX_TOKENS}
  - {when: blocked, block: SAFETY}
  - {when: endless, say: 'and then', finish: none}
  - {when: empty, empty: true}
`)
	ask := func(text string) []reply { return events(t, bodyOf(post(t, url+streamURL, user(text)))) }
	if r := ask("thought"); len(r) != 1 || !r[0].Candidates[0].Content.Parts[0].Thought ||
		r[0].UsageMetadata != (usage{PromptTokenCount: 100, CachedContentTokenCount: 7, ToolUsePromptTokenCount: 5, ThoughtsTokenCount: 3, TotalTokenCount: 108}) {
		t.Errorf("%+v", r)
	}
	both := ask("both")
	if len(both) != 4 || both[1].Candidates[0].FinishReason != "" || both[3].Candidates[0].FinishReason != "STOP" {
		t.Fatalf("%+v", both)
	}
	for _, r := range both {
		if r.UsageMetadata.ThoughtsTokenCount != 30 || r.UsageMetadata.TotalTokenCount == 0 {
			t.Errorf("usage of a chunk is %+v", r.UsageMetadata)
		}
	}
	for text, want := range map[string]string{
		"bare":    `{"candidates":[{"finishReason":"PROHIBITED_CONTENT","index":0}],`,
		"cut":     `{"candidates":[{"content":{"role":"model","parts":[{"text":"as far as"}]},"finishReason":"MAX_TOKENS","index":0}],`,
		"blocked": `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata"`,
		"endless": `{"candidates":[{"content":{"role":"model","parts":[{"text":"and then"}]},"index":0}],`,
		"empty":   `{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}],`,
	} {
		body := bodyOf(post(t, url+streamURL, user(text)))
		if !strings.HasPrefix(body, "data: "+want) || !strings.HasSuffix(body, "}\r\n\r\n") {
			t.Errorf("%s: %s", text, body)
		}
	}
}

func TestRefusals(t *testing.T) {
	_, url := start(t, `
models:
  - {name: gemini-3.1-pro-preview}
  - {name: gemini-3-flash-preview}
  - {name: far, refuses: region}
rules:
  - {model: flash, refuse: minute}
  - {when: today, refuse: day, retry_after: 3h}
  - {when: busy, refuse: overload}
  - {when: key, refuse: key}
  - {when: region, refuse: region}
  - {when: old, refuse: closed}
`)
	const pro, stream = "gemini-3.1-pro-preview", ":streamGenerateContent?alt=sse"
	for name, c := range map[string]struct {
		model, text string
		code        int
		want        []string
	}{
		"minute":   {"gemini-3-flash-preview", "x", 429, []string{"RESOURCE_EXHAUSTED", "PerMinute", `"retryDelay":"41s"`, `"model":"gemini-3-flash-preview"`, "Please retry in 41s."}},
		"no limit": {pro, "x", 200, []string{"scripted answer"}},
		"day":      {pro, "today", 429, []string{"PerDay", `"retryDelay":"10800s"`}},
		"overload": {pro, "busy", 503, []string{"UNAVAILABLE", "The model is overloaded."}},
		"key":      {pro, "key", 400, []string{"INVALID_ARGUMENT", `"reason":"API_KEY_INVALID"`}},
		"region":   {pro, "region", 400, []string{"FAILED_PRECONDITION", "User location is not supported for the API use."}},
		"closed":   {pro, "old", 404, []string{"NOT_FOUND", "models/gemini-3.1-pro-preview is no longer available to new users"}},
		"listed":   {"far", "x", 400, []string{"FAILED_PRECONDITION"}},
		"unknown":  {"gemini-9", "x", 404, []string{"models/gemini-9 is not found for API version v1beta"}},
	} {
		code, _, body := post(t, url+"/v1beta/models/"+c.model+stream, user(c.text))
		if code != c.code {
			t.Errorf("%s: status %d", name, code)
		}
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", name, want, body)
			}
		}
	}
	if _, _, body := post(t, url+"/v1beta/models/far:streamGenerateContent", user("x")); !strings.HasPrefix(body, `[{"error"`) {
		t.Errorf("the error of a stream of JSON is no array: %s", body)
	}
	if code, _, body := post(t, url+streamURL+"&session=1", user("x")); code != 400 || !strings.Contains(body, "Cannot bind query parameter") {
		t.Errorf("%d %s", code, body)
	}
}

// The models of a new key: closed ones are listed and described, and answer nothing.
func TestModels(t *testing.T) {
	_, url := start(t, `rules: []`)
	get := func(path string) (int, string) {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if code, _ := get("/v1beta/models/gemini-2.5-pro"); code != 200 {
		t.Errorf("a closed model is described with %d", code)
	}
	for _, method := range []string{"generateContent", "streamGenerateContent", "countTokens"} {
		if code, _, body := post(t, url+"/v1beta/models/gemini-2.5-pro:"+method, user("x")); code != 404 || !strings.Contains(body, "no longer available") {
			t.Errorf("%s of a closed model: %d %s", method, code, body)
		}
	}
	if code, _, _ := post(t, url+"/v1beta/models/gemini-embedding-001:generateContent", user("x")); code != 404 {
		t.Errorf("an embedding model generates: %d", code)
	}
	if _, _, body := post(t, url+"/v1beta/models/gemini-pro-latest:generateContent", user("x")); !strings.Contains(body, `"modelVersion":"gemini-3.1-pro-preview"`) {
		t.Errorf("an alias: %s", body)
	}
	var names []string
	for token := ""; ; {
		_, body := get("/v1beta/models?pageSize=4&pageToken=" + token)
		var page struct {
			Models        []struct{ Name string }
			NextPageToken string
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Models) > 4 {
			t.Fatalf("%v in %s", err, body)
		}
		for _, m := range page.Models {
			names = append(names, strings.TrimPrefix(m.Name, "models/"))
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	var want []string
	for _, m := range models {
		want = append(want, m.Name)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestBinary(t *testing.T) {
	_, url := start(t, `rules: [{say: 'one two', chunks: 2, block: '', finish: MAX_TOKENS}]`)
	read := func(data []byte) *pb.GenerateContentResponse {
		r := new(pb.GenerateContentResponse)
		if err := proto.Unmarshal(data, r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := read([]byte(bodyOf(post(t, url+"/v1beta/models/gemini-3.1-pro-preview:generateContent?alt=proto", user("x")))))
	if whole.Candidates[0].Content.Parts[0].GetText() != "one two" || whole.Candidates[0].FinishReason != pb.Candidate_MAX_TOKENS {
		t.Errorf("%v", whole)
	}
	_, h, body := post(t, url+"/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=proto", user("x"))
	text, rest := "", []byte(body)
	for len(rest) > 0 {
		_, _, n := protowire.ConsumeTag(rest)
		message, m := protowire.ConsumeBytes(rest[n:])
		if n < 0 || m < 0 {
			t.Fatalf("%q", body)
		}
		text += read(message).Candidates[0].Content.Parts[0].GetText()
		rest = rest[n+m:]
	}
	if text != "one two" || h.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%q, %v", text, h)
	}
	if code, _, _ := post(t, url+"/v1beta/models/gemini-3.1-pro-preview:generateContent?alt=xml", user("x")); code != 400 {
		t.Errorf("alt=xml is %d", code)
	}
}
