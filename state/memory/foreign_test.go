package memory

import (
	"os"
	"testing"
)

// An index that belongs to another room is neither read nor built again from what it has.
func TestIndexOfAnotherRoom(t *testing.T) {
	dir := t.TempDir()
	x := openIn(t, dir)
	put(t, x, SourceMemory, "MEMORY.md", "- only here")
	_, err := x.Add(t.Context(), "fact", "a note")
	must(t, err)
	must(t, x.Close())
	data, err := os.ReadFile(Path(dir, den))
	must(t, err)
	must(t, os.WriteFile(Path(dir, "!other:x"), data, 0o600))
	other, err := Open(t.Context(), dir, "!other:x")
	if err == nil {
		notes, err := other.Newest(t.Context(), 10)
		t.Errorf("another room's index was opened: %+v, %v, %+v", notes, err, other.Salvaged())
		must(t, other.Close())
	}
	if now, err := os.ReadFile(Path(dir, "!other:x")); err != nil || len(now) != len(data) {
		t.Errorf("the file was changed: %v", err)
	}
}
