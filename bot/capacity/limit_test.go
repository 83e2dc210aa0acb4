package capacity

import "testing"

func TestWarmFor(t *testing.T) {
	for gb, want := range map[float64]int{0: 0, 1: 0, 1.5: 0, 2.4: 0, 2.5: 1, 4: 2, 8: 6, 9.5: 8, 256: 8} {
		if got := warmFor(uint64(gb * (1 << 30))); got != want {
			t.Errorf("%v GB: %d", gb, got)
		}
	}
}
