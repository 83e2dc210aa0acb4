package bot

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state"
)

func TestInPlain(t *testing.T) {
	row := state.Inbound{Room: "!den", Event: "$1", Sender: "@ann:here", Type: encryptedType, Raw: json.RawMessage(`{"type":"m.room.encrypted"}`)}
	for kind, taken := range map[string]bool{
		"m.room.message": true, "m.reaction": true, "m.sticker": true, "m.key.verification.start": true,
		"m.room.redaction": false, "m.room.tombstone": false, "m.room.member": false, "m.room.encrypted": false, typeExecute: false, "": false,
	} {
		raw := json.RawMessage(fmt.Sprintf(`{"event_id":"$1","sender":"@ann:here","type":%q,"content":{"redacts":"$0"}}`, kind))
		got := inPlain(row, raw)
		if (got.Type == kind) != taken && kind != encryptedType || (string(got.Raw) == string(raw)) != taken {
			t.Errorf("%q: %s %s", kind, got.Type, got.Raw)
		}
	}
}

func TestStandFor(t *testing.T) {
	row := state.Inbound{Room: "!den", Event: "$1", Sender: "@ann:here", Type: encryptedType, Time: time.UnixMilli(5)}
	heard := func(wireEvent) hearing { return hearing{heard: true} }
	for kind, want := range map[string]kind{typeSealed: kindSealed, typeUnreadable: kindUnreadable} {
		got := standFor(row, "!den", kind, sealedContent{Room: "!den", Session: "s"})
		e, ok := parseEvent(got.Raw)
		if !ok || e.ID != "$1" || e.Sender != "@ann:here" || e.Time != 5 || got.Type != kind || !strings.Contains(string(e.Content), `"session":"s"`) {
			t.Errorf("%s: %s %s", kind, got.Type, got.Raw)
		}
		if k := classify(e, "@bot:here", heard); k != want {
			t.Errorf("%s is %d, want %d", kind, k, want)
		}
		if k := classify(e, "@ann:here", heard); k != kindArchive {
			t.Errorf("our own %s is %d", kind, k)
		}
		if k := classify(e, "@bot:here", func(wireEvent) hearing { return hearing{} }); k != kindArchive {
			t.Errorf("a stranger's %s is %d", kind, k)
		}
	}
}

// Each way on which rows leave the journal goes by the encryption.
func TestNoRowLeavesEncrypted(t *testing.T) {
	row := reflect.TypeFor[state.Inbound]()
	var got []string
	for method := range reflect.TypeFor[*state.Journal]().Methods() {
		for i := range method.Type.NumOut() {
			if out := method.Type.Out(i); out == row || out == reflect.SliceOf(row) {
				got = append(got, method.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"Before", "Commit", "Event", "Pending", "PendingType"}, got); diff != "" {
		t.Errorf("journal does not stand before these (-want +got):\n%s", diff)
	}
}

func TestWithRoom(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"m.room.encrypted"}`:                    `{"room_id":"!den","type":"m.room.encrypted"}`,
		`{"room_id":"!attic","type":"m.room.encrypted"}`: `{"room_id":"!den","type":"m.room.encrypted"}`,
		`[]`: `[]`,
	} {
		if got := string(withRoom(json.RawMessage(in), "!den")); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func TestPlainRowsAreBounded(t *testing.T) {
	var p plainRows
	raw := json.RawMessage(strings.Repeat("x", 64<<10))
	for i := range 1000 {
		p.put(fmt.Sprint("$", i), raw)
		if _, ok := p.get(fmt.Sprint("$", i)); !ok {
			t.Fatal("the newest is not kept")
		}
	}
	held := 0
	for key, raw := range p.rows {
		held += len(key) + len(raw)
	}
	if held > maxPlain || held != p.size {
		t.Errorf("%d bytes are kept, %d counted", held, p.size)
	}
}

func TestSealed(t *testing.T) {
	var s sealed
	key := e2ee.Key{Room: "!den", Session: "s"}
	row := func(event string) state.Inbound { return state.Inbound{Room: "!den", Event: event} }
	if ask, drop := s.add(row("$1"), key, false); !ask || drop {
		t.Errorf("the first: ask %v, drop %v", ask, drop)
	}
	if ask, _ := s.add(row("$1"), key, false); ask {
		t.Error("a key is asked for twice")
	}
	if ask, _ := s.add(row("$2"), key, false); ask {
		t.Error("a key is asked for once more for another message")
	}
	now := time.Now()
	if d := s.due(now.Add(sealedTold / 2)); len(d.tell)+len(d.giveUp)+len(d.again)+len(d.ask) != 0 {
		t.Errorf("too early: %+v", d)
	}
	s.failed(key)
	for want, at := range []time.Duration{1, 2} { // the second time nobody is asked
		if d := s.due(now.Add(at)); len(d.ask) != 1-want {
			t.Errorf("asked again for %d keys", len(d.ask))
		}
	}
	for want, at := range []time.Duration{sealedTold * 3, sealedTold * 2} { // the second time nobody is told
		if d := s.due(now.Add(at)); len(d.tell) != 2-2*want {
			t.Errorf("told of %d", len(d.tell))
		}
	}
	if rooms := s.came(key); len(rooms) != 2 || len(s.rows) != 0 {
		t.Error("its key came, and it waits on")
	}
	_, _ = s.add(row("$3"), e2ee.Key{}, false)
	if d := s.due(now); len(d.again) != 1 || len(s.rows) != 0 {
		t.Errorf("what no key was missing for is not looked at again: %+v", d)
	}
	_, _ = s.add(row("$4"), key, false)
	if d := s.due(now.Add(sealedTime + time.Minute)); len(d.giveUp) != 1 || len(s.rows) != 0 {
		t.Errorf("given up: %+v", d)
	}
	s = sealed{}
	for _, event := range []string{"$5", "$6"} {
		if tell, drop := s.add(row(event), key, true); !tell || drop {
			t.Errorf("of a device that is not trusted: tell %v, drop %v", tell, drop)
		}
	}
	if tell, _ := s.add(row("$5"), key, true); tell {
		t.Error("people are told of the same message again")
	}
	for want, at := range []time.Duration{sealedTold + time.Second, 2 * sealedTold} { // the second time it is too early
		d := s.due(time.Now().Add(at))
		if len(d.tell)+len(d.ask)+len(d.again)+len(d.giveUp) != 0 || len(d.look) != 1-want {
			t.Errorf("a device that is not trusted: %+v", d)
		}
	}
	if rooms := s.came(key); len(rooms) != 2 || len(s.rows) != 0 {
		t.Error("its device is trusted, and it waits on")
	}
	_, _ = s.add(row("$7"), key, true)
	if d := s.due(now.Add(sealedTime + time.Minute)); len(d.giveUp) != 1 || len(s.rows) != 0 {
		t.Errorf("given up: %+v", d)
	}
	for i := range maxSealed + 10 {
		if _, drop := s.add(row(fmt.Sprint("$x", i)), key, false); drop != (i >= maxSealed) {
			t.Fatalf("message %d: drop %v", i, drop)
		}
	}
}

func TestWarnOnceAnHour(t *testing.T) {
	var s sealed
	now := time.Now()
	ann, bob := warnedOf{"!den", "@ann:here"}, warnedOf{"!den", "@bob:here"}
	for i, want := range []struct {
		of    warnedOf
		after time.Duration
		warn  bool
	}{
		{ann, 0, true}, {ann, warnPause - 1, false}, {bob, time.Minute, true}, {warnedOf{"!attic", "@ann:here"}, time.Minute, true},
		{ann, warnPause, true}, {ann, warnPause + time.Minute, false},
	} {
		if got := s.warn(want.of, now.Add(want.after)); got != want.warn {
			t.Errorf("step %d: %v", i, got)
		}
	}
	s.unwarned(ann)
	if !s.warn(ann, now.Add(warnPause+time.Minute)) {
		t.Error("what did not get through is not said again")
	}
}

func TestDistrustSentence(t *testing.T) {
	for why, want := range map[e2ee.Distrust]string{
		e2ee.NotSigned: "Verify this device", e2ee.NoIdentity: "E2EE_DEVICES=all", e2ee.IdentityChanged: "`matrix-tui trust @ann:here`",
	} {
		if got := distrustSentence("@ann:here", why); !strings.Contains(got, want) || !strings.Contains(got, "@ann:here") {
			t.Errorf("%s: %s", why, got)
		}
	}
}
