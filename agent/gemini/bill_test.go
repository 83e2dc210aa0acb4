package gemini

import (
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	const numbers = `"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "toolUsePromptTokenCount": 1, "cachedContentTokenCount": 4, "totalTokenCount": 18, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}]}`
	for name, c := range map[string]struct {
		body            string
		in, cached, out int64
	}{
		"single":             {`{"candidates": [], ` + numbers + `, "modelVersion": "x"}`, 11, 4, 7},
		"first":              {`{` + numbers + `, "candidates": [{"usageMetadata": {"promptTokenCount": 7}}]}`, 11, 4, 7},
		"last of a stream":   {"data: {\"usageMetadata\": {\"promptTokenCount\": 99}}\r\n\r\ndata: {" + numbers + "}\r\n\r\n", 11, 4, 7},
		"last of a list":     {`[{"usageMetadata": {"promptTokenCount": 99}},` + "\n" + `{` + numbers + `}]`, 11, 4, 7},
		"long":               {`{"candidates": "` + strings.Repeat("x", maxEnd) + `", ` + numbers + "}", 11, 4, 7},
		"too long":           {`{"candidates": "` + strings.Repeat("x", 5*maxEnd) + `", ` + numbers + "}", 0, 0, 0},
		"cut after":          {"data: {" + numbers + "}\r\n\r\ndata: {\"candidates\": [{", 11, 4, 7},
		"said by a model":    {`{` + numbers + `, "text": "\"usageMetadata\": {\"promptTokenCount\": 7000}"}`, 11, 4, 7},
		"a call's argument":  {`{"candidates": [{"content": {"parts": [{"functionCall": {"args": {"usageMetadata": {"promptTokenCount": 0}, "x": "`, 0, 0, 0},
		"an argument, later": {"data: {" + numbers + "}\n\ndata: {\"candidates\": [{\"args\": {\"usageMetadata\": {\"promptTokenCount\": 1}}}]}", 11, 4, 7},
		"another key":        {`{"usageMetadat": {"promptTokenCount": 1}, "usageMetadata2": {"promptTokenCount": 1}, "x\"usageMetadata": {"promptTokenCount": 1}}`, 0, 0, 0},
		"no object":          {`{"usageMetadata": 5, "x": {"promptTokenCount": 1}}`, 0, 0, 0},
		"none":               {`{"candidates": []}`, 0, 0, 0},
		"cut":                {`{"usageMetadata": {"promptTokenCount": 1`, 0, 0, 0},
		"no colon":           {`"usageMetadata"`, 0, 0, 0},
		"nonsense":           {`{"usageMetadata": {"promptTokenCount": -5, "candidatesTokenCount": 9e18}}`, 0, 0, 1 << 32},
		"all cached":         {`{"usageMetadata": {"promptTokenCount": 5, "cachedContentTokenCount": 9}}`, 5, 5, 0},
		"huge":               {`{"usageMetadata": {"promptTokenCount": -5, "candidatesTokenCount": 9000000000000000000}}`, 0, 0, 1 << 32},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{1, 7, 1000} {
				var b Bill
				for s := c.body; s != ""; {
					n := min(len(s), piece)
					b.Take([]byte(s[:n]))
					s = s[n:]
				}
				if got, want := b.Tokens(), (Tokens{c.in, c.cached, c.out}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
				if cap(b.end) > 4*maxEnd {
					t.Errorf("%d bytes kept", cap(b.end))
				}
			}
		})
	}
}

func TestFinish(t *testing.T) {
	const says = `data: {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}`
	for name, c := range map[string]struct{ body, want string }{
		"last of a stream":   {says + "\r\n\r\n" + `data: {"candidates": [{"finishReason": "MAX_TOKENS"}], "usageMetadata": {}}` + "\r\n\r\n", "MAX_TOKENS"},
		"a blocked prompt":   {`data: {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}` + "\n\n", "PROHIBITED_CONTENT"},
		"none":               {says + "\n\n", ""},
		"cut":                {`data: {"candidates": [{"content": {"parts": [{"te`, ""},
		"a call's argument":  {`data: {"candidates": [{"content": {"parts": [{"functionCall": {"args": {"finishReason": "SAFETY"}}}]}}]}`, ""},
		"said by a model":    {`data: {"candidates": [{"content": {"parts": [{"text": "\ndata: {\"candidates\": []}"}]}, "finishReason": "STOP"}]}`, "STOP"},
		"a single answer":    {`{"candidates": [{"finishReason": "SAFETY"}]}`, ""},
		"not a reason":       {`data: {"candidates": [{"finishReason": "<b>"}]}`, ""},
		"a number":           {`data: {"candidates": [{"finishReason": 2}]}`, ""},
		"after much":         {"data: " + strings.Repeat("x", 5*maxEnd) + "\n\n" + `data: {"candidates": [{"finishReason": "OTHER"}]}`, "OTHER"},
		"an event too large": {`data: {"candidates": [{"content": "` + strings.Repeat("x", 5*maxEnd) + `", "finishReason": "OTHER"}]}`, ""},
		"nothing":            {"", ""},
	} {
		var b Bill
		b.Take([]byte(c.body))
		if got := b.Finish(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzBill(f *testing.F) {
	f.Add([]byte(`{"usageMetadata": {"promptTokenCount": 10}}`))
	f.Add([]byte(`{"usageMetadata"x:[1]]]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var b Bill
		b.Take(body)
		if reason := b.Finish(); len(reason) > 40 {
			t.Errorf("reason %q", reason)
		}
		u := b.Tokens()
		if in, out := u.Input, u.Output; in < 0 || out < 0 || in > 1<<33 || out > 1<<33 || u.Cached < 0 || u.Cached > in {
			t.Errorf("%+v", u)
		}
	})
}
