package gateway

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
)

// A directory that another room has marked is never used. One of an earlier release, which has no mark, stays its
// room's.
func TestDirOfAnotherRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g")
	open := func() *Gateway {
		g := New(Config{Dir: dir, Log: zerolog.Nop()})
		t.Cleanup(func() { _ = g.Close(context.Background()) })
		return g
	}
	opened := func(g *Gateway) string {
		t.Helper()
		path, err := g.Open(testRoom)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	g := open()
	short := opened(g)
	if err := os.Remove(roomFile(short)); err != nil {
		t.Fatal(err)
	}
	if again := opened(open()); again != short {
		t.Errorf("the room's directory was %s, and is now %s", short, again)
	}
	if err := os.WriteFile(roomFile(short), []byte("!another:room"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := opened(open())
	if whole == short || len(filepath.Base(whole)) != 43 {
		t.Errorf("the room uses %s", whole)
	}
	g = open()
	if err := g.Renew(testRoom); err != nil {
		t.Fatal(err)
	}
	if again := opened(g); again != whole {
		t.Errorf("made again, the directory is %s", again)
	}
	if owner, err := os.ReadFile(roomFile(short)); string(owner) != "!another:room" || err != nil {
		t.Errorf("the other room's directory is %q's, %v", owner, err)
	}
}
