package decode

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTyping(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		want   []string
	}{
		"one":         {`[{"type":"m.typing","content":{"user_ids":["@ann:here"]}}]`, []string{"@ann:here"}},
		"nobody":      {`[{"type":"m.typing","content":{"user_ids":[]}}]`, []string{}},
		"not told":    {`[{"type":"m.receipt","content":{}}]`, nil},
		"malformed":   {`[7,{"content":{"user_ids":[]}}]`, nil},
		"no list":     {`[{"type":"m.typing","content":{"user_ids":"@ann:here"}}]`, []string{}},
		"the last of": {`[{"type":"m.typing","content":{"user_ids":["@ann:here"]}},{"type":"m.typing","content":{"user_ids":[]}}]`, []string{}},
	} {
		var events []json.RawMessage
		if err := json.Unmarshal([]byte(c.events), &events); err != nil {
			t.Fatal(err)
		}
		if _, typing := Present(events); !cmp.Equal(c.want, typing) {
			t.Errorf("%s: %v", name, typing)
		}
	}
}
