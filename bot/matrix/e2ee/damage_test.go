package e2ee

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"matrix-tui/state/damage"
)

// A crypto.db with random damage is used as it is, or replaced at the next start when the damage was met once. Then people
// and the bot talk on, in unencrypted rooms also as long as the device has no keys.
func TestRandomKeyPagesOverwritten(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			alice, bot := enter(t, "alice"), enter(t, "bot")
			room := alice.room(bot)
			clear, err := alice.cli.CreateRoom(t.Context(), &mautrix.ReqCreateRoom{})
			if err != nil {
				t.Fatal(err)
			}
			alice.bring(clear.RoomID.String(), bot)
			for range 3 {
				bot.reads(room, alice.say(room, "before"))
				alice.reads(room, bot.say(room, "I see"))
			}
			count := 0
			if err := bot.m.db.QueryRow(t.Context(), "PRAGMA page_count").Scan(&count); err != nil {
				t.Fatal(err)
			}
			var bad []int
			for range 1 + random.IntN(3) {
				bad = append(bad, 1+random.IntN(count))
			}
			switch seed {
			case 0:
				bad = bot.pagesOf("crypto_account")[1:] // which no structure of SQLite is on
			case 1, 2:
				bad = []int{int(seed)} // the header and the first root
			}
			if len(bad) == 0 {
				t.Fatal("the account is on one page")
			}
			if err := bot.m.Close(); err != nil {
				t.Fatal(err)
			}
			bot.overwrite(bad...)
			t.Logf("pages %v of %d", bad, count)
			bot.survives(alice, room, clear.RoomID.String())
		})
	}
}

// pagesOf lists the pages of a table.
func (p *peer) pagesOf(table string) (list []int) {
	p.t.Helper()
	rows, err := p.m.db.Query(p.t.Context(), "SELECT pageno FROM dbstat WHERE name=$1 ORDER BY pageno", table)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var page int
		if err := rows.Scan(&page); err != nil {
			p.t.Fatal(err)
		}
		list = append(list, page)
	}
	return list
}

// survives starts with a damaged crypto.db, and once more when the damage is met.
func (p *peer) survives(alice *peer, room, clear string) {
	t := p.t
	t.Helper()
	path := filepath.Join(p.dir, "crypto.db")
	m, err := Open(t.Context(), p.config())
	if err == nil {
		p.m = m
		err = p.talk(alice, room, clear)
		m.NoteDamage(err) // as its callers do
		if closed := m.Close(); closed != nil {
			t.Error(closed)
		}
		if err == nil && !damage.Marked(path) {
			return // the damage is where nobody looks
		}
	}
	if !errors.Is(err, ErrForeignDevice) {
		if !damage.Marked(path) {
			t.Fatalf("the damage leaves no marker: %v", err)
		}
		if _, err = Open(t.Context(), p.config()); !errors.Is(err, ErrForeignDevice) {
			t.Fatalf("at the next start: %v", err)
		}
	}
	kept, err := filepath.Glob(path + ".corrupt-*")
	if _, lost := os.Stat(path); len(kept) != 1 || errors.Join(err, lost) != nil || damage.Marked(path) {
		t.Errorf("next to the new file: %v, %v", kept, errors.Join(err, lost))
	}
	device := p.cli.DeviceID
	p.cli.DeviceID = ""
	p.open()
	if err := p.clear(clear); err != nil {
		t.Errorf("without keys, %v", err)
	}
	if err := p.m.Close(); err != nil {
		t.Fatal(err)
	}
	p.cli.DeviceID = device
	other := p.second(func(c *Config) { c.Dir = p.dir })
	other.dir = p.dir
	alice.meets(other)
	if err := other.talk(alice, room, clear); err != nil {
		t.Errorf("as a new session: %v", err)
	}
}

// meets waits until a homeserver's sync has told of another user's new device: what is said earlier has no key for it.
func (p *peer) meets(other *peer) {
	p.t.Helper()
	user, device := other.cli.UserID, other.cli.DeviceID
	p.until("device "+device.String(), func() bool {
		if err := p.m.refreshDevices(p.t.Context(), []id.UserID{user}); err != nil {
			p.t.Fatal(err)
		}
		known, err := p.m.store.GetDevice(p.t.Context(), user, device)
		if err != nil {
			p.t.Fatal(err)
		}
		return known != nil
	})
}

// clear says something in an unencrypted room.
func (p *peer) clear(room string) error {
	kind, _, err := p.m.Encrypt(p.t.Context(), room, "m.room.message", text("open"))
	if err == nil && kind != "m.room.message" {
		err = fmt.Errorf("it is a %s", kind)
	}
	if err != nil {
		return fmt.Errorf("in an unencrypted room: %w", err)
	}
	return nil
}

// talk lets alice and the bot say something in both rooms, until an error.
func (p *peer) talk(alice *peer, room, clear string) error {
	if err := p.clear(clear); err != nil {
		return err
	}
	alice.sync() // it learns of new devices
	msg := alice.say(room, "after")
	for begun := time.Now(); ; {
		if err := p.tryTake(p.fetch()); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		var noKey *NoKeyError
		err := error(&NoKeyError{})
		if raw := p.find(room, msg); raw != nil {
			_, err = decrypted(p.m, p.t.Context(), room, raw)
		}
		if err == nil {
			break
		}
		if !errors.As(err, &noKey) || time.Since(begun) > time.Minute {
			return fmt.Errorf("decrypt: %w", err)
		}
	}
	kind, content, err := p.m.Encrypt(p.t.Context(), room, "m.room.message", text("secret"))
	if err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	if got := alice.reads(room, p.put(room, kind, content)); got != "secret" {
		return fmt.Errorf("alice reads %q", got)
	}
	return nil
}
