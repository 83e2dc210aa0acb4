package decode

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirect(t *testing.T) {
	want := map[string][]string{"@ann:x": {"!a", "!b"}, "@bob:x": nil}
	const content = `{"@ann:x":["!a",7,"!b"],"@bob:x":"!c"}`
	got, err := Direct(json.RawMessage(content))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	got, ok := DirectEvent(json.RawMessage(`{"type":"m.direct","content":` + content + `}`))
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("%v %s", ok, diff)
	}
	for _, raw := range []string{
		``, `[]`, `{"type":"m.direct"}`, `{"type":"m.direct","content":[]}`, `{"type":"m.tag","content":{}}`, `{"type":"m.direct","Type":"m.direct","content":{}}`,
		`{"type":"m.direct","content":{"@ann:x":["!a"],"@ann:x":["!b"]}}`,
	} {
		if users, ok := DirectEvent(json.RawMessage(raw)); ok {
			t.Errorf("%s: %v", raw, users)
		}
	}
}
