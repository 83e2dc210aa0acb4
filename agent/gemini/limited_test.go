package gemini

import (
	"testing"
)

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
