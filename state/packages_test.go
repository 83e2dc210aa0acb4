package state

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The packages of a replaced container survive a restart, and move with a room's volumes.
func TestStorePackages(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	must(t, s.Packages.Add(ctx, "!a:x", []string{"g++", "bc"}))
	must(t, s.Packages.Add(ctx, "!a:x", []string{"bc", "at"}))
	must(t, s.Containers.Set(ctx, "!a:x", "one"))
	want := []string{"at", "bc", "g++"}
	s = openStore(t, dir)
	if diff := cmp.Diff(want, s.Packages.Of("!a:x")); diff != "" {
		t.Error(diff)
	}
	must(t, s.MoveRoom(ctx, "!a:x", "!b:x"))
	if diff := cmp.Diff(want, s.Packages.Of("!b:x")); diff != "" || s.Packages.Of("!a:x") != nil {
		t.Error(diff, s.Packages.Of("!a:x"))
	}
	var many []string
	for i := range 2 * maxPackages {
		many = append(many, fmt.Sprintf("p%03d", i))
	}
	must(t, s.Packages.Add(ctx, "!b:x", many))
	if n := len(s.Packages.Of("!b:x")); n != maxPackages {
		t.Errorf("%d packages, want %d", n, maxPackages)
	}
	if got := s.Packages.Of("!b:x"); got[maxPackages-1] != fmt.Sprintf("(%d more)", maxPackages+4) {
		t.Errorf("the last one is %q", got[maxPackages-1])
	}
	must(t, s.Packages.Drop(ctx, "!b:x"))
	if s = openStore(t, dir); s.Packages.Of("!b:x") != nil {
		t.Error("packages are left:", s.Packages.Of("!b:x"))
	}
}
