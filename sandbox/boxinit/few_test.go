package boxinit

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// A hostile reply takes little memory, however many entries it has.
func TestFew(t *testing.T) {
	for name, one := range map[string]string{"found": `{"Found":{"Entries":[#]}}`, "processes": `{"Processes":[#]}`, "left": `{"Left":[#]}`} {
		reply := strings.Replace(one, "#", strings.Repeat("{},", MaxFrame/3-20)+"{}", 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var r Reply
		if err := json.Unmarshal([]byte(reply), &r); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 10 {
			t.Errorf("%s: %d MB", name, mb)
		}
	}
	var r Reply
	if err := json.Unmarshal([]byte(`{"Left":[{"PID":7},{"PID":8}],"Processes":null,"Found":{"Entries":[]}}`), &r); err != nil ||
		len(r.Left) != 2 || r.Left[1].PID != 8 || r.Processes != nil {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{`{"Left":{}}`, `{"Left":7}`, `{"Left":[7]}`} {
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
