package sandbox

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"matrix-tui/sandbox/gateway"
)

// roomsAt returns the rooms of another connection to podman, with another place.
func roomsAt(t testing.TB, socket string, place Place) *Rooms {
	t.Helper()
	p, err := Connect(t.Context(), "unix://"+socket, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	p.Place = place
	r := NewRooms(p, zerolog.Nop())
	t.Cleanup(r.Close)
	return r
}

// doors are those of the rooms of all tests: gateways, or folders.
type doors struct{ all sync.Map }

func (d *doors) Folder(room string) string {
	switch door, _ := d.all.Load(room); door := door.(type) {
	case *gateway.Gateway:
		return door.Folder(room)
	case string:
		return door
	}
	return ""
}

func (d *doors) Renew(room string) error {
	if door, _ := d.all.Load(room); door != nil {
		if g, ok := door.(*gateway.Gateway); ok {
			return g.Renew(room)
		}
	}
	return nil
}

// move gives a room a folder without a gateway, and returns it.
func (d *doors) move(t testing.TB, room string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d.all.Store(room, dir)
	testRooms.ensured.Delete(room) // as after a restart of the bot
	return dir
}
