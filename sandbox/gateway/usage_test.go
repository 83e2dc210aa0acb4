package gateway

import (
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	const numbers = `"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "toolUsePromptTokenCount": 1, "cachedContentTokenCount": 4, "totalTokenCount": 18}`
	for name, c := range map[string]struct {
		body            string
		in, cached, out int64
	}{
		"single":           {`{"candidates": [], ` + numbers + `, "modelVersion": "x"}`, 11, 4, 7},
		"last of a stream": {"data: {\"usageMetadata\": {\"promptTokenCount\": 99}}\r\n\r\ndata: {" + numbers + "}\r\n\r\n", 11, 4, 7},
		"long":             {strings.Repeat("x", 5*maxTail) + numbers + "}", 11, 4, 7},
		"said by a model":  {`{` + numbers + `, "text": "\"usageMetadata\": {\"promptTokenCount\": 7000}"}`, 11, 4, 7},
		"none":             {`{"candidates": []}`, 0, 0, 0},
		"cut":              {`{"usageMetadata": {"promptTokenCount": 1`, 0, 0, 0},
		"no colon":         {`"usageMetadata"`, 0, 0, 0},
		"nonsense":         {`{"usageMetadata": {"promptTokenCount": -5, "candidatesTokenCount": 9e18}}`, 0, 0, 0},
		"all cached":       {`{"usageMetadata": {"promptTokenCount": 5, "cachedContentTokenCount": 9}}`, 5, 5, 0},
		"huge":             {`{"usageMetadata": {"promptTokenCount": -5, "candidatesTokenCount": 9000000000000000000}}`, 0, 0, 1 << 32},
	} {
		t.Run(name, func(t *testing.T) {
			var tl tail
			for s := c.body; s != ""; {
				n := min(len(s), 1000)
				tl.write([]byte(s[:n]))
				s = s[n:]
			}
			if got, want := tl.usage(), (Usage{1, c.in, c.cached, c.out}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if cap(tl.buf) > 4*maxTail {
				t.Errorf("%d bytes kept", cap(tl.buf))
			}
		})
	}
}

func FuzzTail(f *testing.F) {
	f.Add([]byte(`"usageMetadata": {"promptTokenCount": 10}`))
	f.Add([]byte(`"usageMetadata"x:[1]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var tl tail
		tl.write(body)
		u := tl.usage()
		if in, out := u.InputTokens, u.OutputTokens; in < 0 || out < 0 || in > 1<<33 || out > 1<<33 || u.CachedTokens < 0 || u.CachedTokens > in {
			t.Errorf("%+v", u)
		}
	})
}

// An exhausted quota shows as consecutive refusals. A success ends the sequence; another failure says nothing.
func TestLimited(t *testing.T) {
	o := open(t, script(t, `
rules:
  - {when: busy, status: 429}
  - {when: broken, status: 500}
  - {when: fine, say: fine}
`), nil)
	for i, c := range []struct {
		say  string
		want int
	}{{"busy", 1}, {"broken", 1}, {"busy", 2}, {"fine", 0}, {"busy", 1}} {
		o.do(t, "POST", stream, ask(c.say), nil)
		if got, _ := o.Limited(); got != c.want {
			t.Errorf("after %d, %s: %d in a row, want %d", i, c.say, got, c.want)
		}
	}
	o.do(t, "GET", "/model/v1beta/models", "", nil)
	if got, _ := o.Limited(); got != 1 {
		t.Error("listing models ends the sequence")
	}
}
