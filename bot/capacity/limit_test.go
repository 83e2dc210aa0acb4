package capacity

import "testing"

func TestWarmFor(t *testing.T) {
	for gb, want := range map[float64]int{0: 0, 1: 0, 1.5: 0, 2.4: 0, 2.5: 1, 4: 2, 8: 6, 9.5: 8, 256: 8} {
		if got := warmFor(uint64(gb * (1 << 30))); got != want {
			t.Errorf("%v GB: %d", gb, got)
		}
	}
}

func TestMemInfo(t *testing.T) {
	for text, want := range map[string]uint64{
		"MemTotal:  8 kB\nMemAvailable:   1024 kB\n": 1 << 20,
		"MemTotal:  8 kB\n":                          0,
		"MemAvailable:\n":                            0,
		"MemAvailable: many kB\n":                    0,
	} {
		got, ok := MemInfo([]byte(text), "MemAvailable")
		if got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}
