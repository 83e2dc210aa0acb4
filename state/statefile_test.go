package state

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What parses can be written, and then says the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(seedFile))
	f.Add([]byte(seedFile[:60]))
	f.Add([]byte(`{"containers":null,"history":{"!r":null},"sessions":{"!r":"s"},"executions":{"a": [1 , 2]},"executions":0}`))
	f.Add([]byte(`{"history":{"!r":[{"role":"user","content":"\ud800"},null]},"":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := parse(data)
		if err != nil {
			return
		}
		var file bytes.Buffer
		if err := first.writeTo(&file); err != nil {
			t.Fatal(err)
		}
		second, err := parse(file.Bytes())
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, file.Bytes())
		}
		if diff := cmp.Diff(first, second, cmp.AllowUnexported(contents{}, member{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		for _, ts := range first.history {
			ts.decode()
			ts.unique()
			ts.with([]Turn{{"user", string(data), "$1"}})
		}
	})
}
