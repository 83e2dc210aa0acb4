package e2ee

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"maunium.net/go/mautrix"

	"matrix-tui/state/damage"
)

// overwrite overwrites pages of the closed crypto.db.
func (p *peer) overwrite(pages ...int) {
	p.t.Helper()
	file, err := os.OpenFile(filepath.Join(p.dir, "crypto.db"), os.O_RDWR, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer file.Close()
	for _, n := range pages {
		garbage := make([]byte, 4096)
		rand.Read(garbage)
		if _, err := file.WriteAt(garbage, int64(n-1)*4096); err != nil {
			p.t.Fatal(err)
		}
	}
}

// rootOf returns the first page of a table.
func (p *peer) rootOf(table string) (page int) {
	p.t.Helper()
	if err := p.m.db.QueryRow(p.t.Context(), "SELECT rootpage FROM sqlite_schema WHERE name=$1", table).Scan(&page); err != nil {
		p.t.Fatal(err)
	}
	return page
}

// A damaged crypto.db is kept under another name, and a new session gets new keys.
func TestDamagedKeysAreReplaced(t *testing.T) {
	alice, bot := enter(t, "alice"), enter(t, "bot")
	room := alice.room(bot)
	if got := bot.reads(room, alice.say(room, "before")); got != "before" {
		t.Fatalf("reads %q", got)
	}
	if err := bot.m.Close(); err != nil {
		t.Fatal(err)
	}
	bot.overwrite(1)
	var replaced string
	bot.tune = func(c *Config) { c.Replaced = func(file string) { replaced = file } }
	_, err := Open(t.Context(), bot.config())
	if !errors.Is(err, ErrForeignDevice) {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(bot.dir, replaced)); replaced == "" || err != nil {
		t.Fatalf("moved to %q: %v", replaced, err)
	}

	// With a token that cannot be replaced, unencrypted rooms work meanwhile.
	device := bot.cli.DeviceID
	bot.cli.DeviceID = ""
	bot.open()
	clear, err := alice.cli.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{})
	if err != nil {
		t.Fatal(err)
	}
	alice.bring(clear.RoomID.String(), bot)
	if kind, _, err := bot.m.Encrypt(t.Context(), clear.RoomID.String(), "m.room.message", text("open")); err != nil || kind != "m.room.message" {
		t.Errorf("in an unencrypted room: %s, %v", kind, err)
	}
	if _, _, err := bot.m.Encrypt(t.Context(), room, "m.room.message", text("secret")); !errors.Is(err, ErrNoDevice) {
		t.Errorf("in an encrypted room: %v", err)
	}
	if err := bot.m.Close(); err != nil {
		t.Fatal(err)
	}
	bot.cli.DeviceID = device
	if _, err := Open(t.Context(), bot.config()); !errors.Is(err, ErrForeignDevice) {
		t.Errorf("at the next start: %v", err)
	}

	// A new session has keys, and then the matter is closed.
	other := bot.second(func(c *Config) { c.Dir = bot.dir })
	other.dir = bot.dir
	alice.meets(other)
	if got := other.reads(room, alice.say(room, "after")); got != "after" {
		t.Errorf("reads %q", got)
	}
}

// Damage that is met later is reported once and leaves a marker, and so does damage that
// prevents a start.
func TestDamageLeavesMarker(t *testing.T) {
	for _, table := range []string{"crypto_megolm_inbound_session", "crypto_account"} {
		t.Run(table, func(t *testing.T) {
			alice, bot := enter(t, "alice"), enter(t, "bot")
			room := alice.room(bot)
			msg := alice.say(room, "before")
			bot.reads(room, msg)
			page := bot.rootOf(table)
			if err := bot.m.Close(); err != nil {
				t.Fatal(err)
			}
			bot.overwrite(page)
			reports := 0
			bot.tune = func(c *Config) { c.Damaged = func(error) { reports++ } }
			var err error
			if bot.m, err = Open(t.Context(), bot.config()); err == nil {
				for range 2 {
					_, err = decrypted(bot.m, t.Context(), room, bot.event(room, msg))
					bot.m.NoteDamage(err) // as its caller does
				}
			}
			if !damage.Is(err) || reports != 1 || !damage.Marked(filepath.Join(bot.dir, "crypto.db")) {
				t.Errorf("%d reports, %v", reports, err)
			}
			if bot.m != nil {
				_ = bot.m.Close()
			}
			if _, err := Open(t.Context(), bot.config()); !errors.Is(err, ErrForeignDevice) {
				t.Errorf("at the next start: %v", err)
			}
		})
	}
}
