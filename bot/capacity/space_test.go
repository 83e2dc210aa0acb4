package capacity

import "testing"

func TestLow(t *testing.T) {
	dir := t.TempDir()
	free, err := FreeSpace(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reserve uint64
		paths   []string
		want    bool
	}{
		{1, []string{dir, "/proc/no such directory"}, false},
		{2 * free.Bytes, []string{dir}, true},
		{2 * free.Bytes, []string{"/proc/no such directory", dir}, true},
		{2 * free.Bytes, nil, false},
	} {
		if got := anyLow(c.reserve, c.paths...); got != c.want {
			t.Errorf("reserve of %d, %+v free in %v: low = %v", c.reserve, free, c.paths, got)
		}
	}
}
