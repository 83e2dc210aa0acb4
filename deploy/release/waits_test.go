package release

import (
	"os"
	"testing"
	"time"
)

// Time in which the new release waits for the homeserver does not count, up to half an hour.
func TestLate(t *testing.T) {
	base, r := switched(t)
	at := func(after time.Duration) time.Time { return r.Switched.Add(after) }
	for _, c := range []struct {
		waited, now time.Duration // after the switch; the last sign of waiting, 0 = none
		want        string
	}{
		{0, 59 * time.Second, ""},
		{0, 61 * time.Second, "It was not ready within 60 seconds."},
		{-time.Hour, 61 * time.Second, "It was not ready within 60 seconds."}, // an earlier update's
		{55 * time.Second, 61 * time.Second, ""},
		{20 * time.Minute, 20*time.Minute + 59*time.Second, ""},
		{20 * time.Minute, 20*time.Minute + 61*time.Second, "It was not ready within 60 seconds after it had waited for the homeserver."},
		{30 * time.Minute, 30*time.Minute + time.Second, "It was still waiting for the homeserver after 30 minutes."},
	} {
		if c.waited != 0 {
			if err := base.Waits(); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(base.waitingFile(), time.Time{}, at(c.waited)); err != nil {
				t.Fatal(err)
			}
		}
		if got := base.late(r, at(c.now)); got != c.want {
			t.Errorf("waited until %s, at %s: %q, want %q", c.waited, c.now, got, c.want)
		}
	}
}

// The watcher leaves a release alone that says that it waits, and a new one is not late because of an old file.
func TestWatchWaits(t *testing.T) {
	base, r := switched(t)
	r.Switched, r.PID = time.Now().Add(-2*time.Minute), os.Getpid()
	if err := base.Write(r); err != nil {
		t.Fatal(err)
	}
	if err := base.Waits(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := base.Watch(t.Context(), true); ended <- err }()
	for !base.isWatched() {
		select {
		case err := <-ended:
			t.Fatal("it ended: ", err)
		default:
		}
	}
	r.Phase = Done // as Ready does
	if err := base.Write(r); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got, err := base.Read(); err != nil || got.Phase != Done {
		t.Errorf("%v, %v", got.Phase, err)
	}
}
