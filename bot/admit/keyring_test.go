package admit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix/e2ee"
)

func TestKeysAreAskedForOnce(t *testing.T) {
	var k keyring
	one, other := e2ee.Key{Room: "!den", Session: "s"}, e2ee.Key{Room: "!den", Session: "u"}
	got := []bool{k.Ask(one), k.Ask(one), k.Ask(other)}
	k.Forget(one) // the request failed
	got = append(got, k.Ask(one))
	k.Keep(map[e2ee.Key]bool{one: true}) // nothing waits for the other
	got = append(got, k.Ask(one), k.Ask(other))
	if diff := cmp.Diff([]bool{true, false, true, true, false, true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWarnOnceAnHour(t *testing.T) {
	var k keyring
	now := time.Now()
	ann, bob := warning{"!den", "@ann:here"}, warning{"!den", "@bob:here"}
	for i, want := range []struct {
		of    warning
		after time.Duration
		warn  bool
	}{
		{ann, 0, true}, {ann, warnPause - 1, false}, {bob, time.Minute, true}, {warning{"!attic", "@ann:here"}, time.Minute, true},
		{ann, warnPause, true}, {ann, warnPause + time.Minute, false},
	} {
		if got := k.Warn(want.of, now.Add(want.after)); got != want.warn {
			t.Errorf("step %d: %v", i, got)
		}
	}
	k.ForgetWarning(ann)
	if !k.Warn(ann, now.Add(warnPause+time.Minute)) {
		t.Error("what did not get through is not said again")
	}
}
