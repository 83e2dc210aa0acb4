package gemini

import (
	"strings"
	"testing"
)

func FuzzBilled(f *testing.F) {
	f.Add([]byte(`{"tools":[{"google_search":{}}]}`))
	f.Add([]byte(`{"tools":[{"functionDeclarations":[]}],"t\u006fols":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if Billed(body, []string{"url_context"}) == nil && strings.Contains(string(body), `{"tools":[{"google_search"`) && body[0] == '{' && strings.HasPrefix(string(body), `{"tools"`) {
			t.Errorf("%q passes", body)
		}
	})
}
