package main

import (
	"strings"
	"testing"
)

const said = `{"config":{"protocol_version":"v1.0.0"}}
{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[{"module":"m","version":"v1.0.0"}]}}
{"finding":{"osv":"GO-2","fixed_version":"v1.2.0","trace":[{"module":"m","version":"v1.0.0"}]}}
{"finding":{"osv":"GO-2","fixed_version":"v1.2.0","trace":[{"module":"m","version":"v1.0.0","package":"m/p","function":"Do"},{"module":"us"}]}}
`

func TestJudge(t *testing.T) {
	found, err := read(strings.NewReader(said))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ list, wrong string }{
		{"", "GO-2: m@v1.0.0, m/p.Do is called; fixed in: v1.2.0"},
		{"# all right\nGO-2 the bot never does this\n", ""},
		{"GO-2 why\nGO-1 why\n", "GO-1: accepted, but no longer found"},
		{"GO-2\n", `"GO-2" has no reason`},
	} {
		accepted, err := parse(tt.list)
		if err == nil {
			err = judge(found, accepted)
		}
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("with the list %q: %v, want %q", tt.list, err, tt.wrong)
		}
	}
}
