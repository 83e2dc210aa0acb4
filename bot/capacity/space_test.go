package capacity

import (
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/state"
)

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

func TestSayLargest(t *testing.T) {
	journal, store, err := state.Open(t.Context(), t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	ctx := t.Context()
	for _, room := range []string{"!a:x", "!b:x", "!c:x", "!d:x", "!old:x"} {
		if err := store.Containers.Set(ctx, room, "sandbox-"+room[1:2]); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.MoveRoom(ctx, "!old:x", "!new:x"); err != nil {
		t.Fatal(err)
	}
	if err := store.Containers.Set(ctx, "!new:x", "sandbox-new"); err != nil {
		t.Fatal(err)
	}
	if got := sayLargest(store, nil); got != "" {
		t.Errorf("nothing is known: %q", got)
	}
	got := sayLargest(store, map[string]int64{"!a:x": 5 << 20, "!b:x": 3 << 30, "!c:x": 1 << 20, "!old:x": 1 << 30, "!new:x": 1 << 20, "!of-another-bot:x": 9 << 30})
	want := "The rooms that take the most space: `!b:x` (3 GB), `!new:x` (1 GB), `!a:x` (5 MB)."
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
