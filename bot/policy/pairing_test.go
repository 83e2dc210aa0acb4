package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func openPairing(t *testing.T, dir string) *Pairing {
	t.Helper()
	p, err := OpenPairing(dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func giveCode(t *testing.T, p *Pairing, user, room string, at time.Time) string {
	t.Helper()
	code, err := p.Code(user, room, at)
	if err != nil {
		t.Fatalf("code for %s: %v", user, err)
	}
	return code
}

// wants is the expected result of Accept.
func wants(t *testing.T, p *Pairing, code string, at time.Time, user string, want error) {
	t.Helper()
	got, room, err := p.Accept(code, at)
	if !errors.Is(err, want) || got != user || (user != "") != (room != "") {
		t.Errorf("accept %q: %q in %q, %v; want %q, %v", code, got, room, err, user, want)
	}
}

func TestPairing(t *testing.T) {
	dir := t.TempDir()
	p := openPairing(t, dir)
	code := giveCode(t, p, "@a:x", "!a:x", noon)
	if !regexp.MustCompile(`^[A-HJ-NP-Z2-9]{8}$`).MatchString(code) {
		t.Errorf("code %q", code)
	}
	if again, err := p.Code("@a:x", "!a:x", noon.Add(59*time.Minute)); again != code || err != nil {
		t.Errorf("%q, %v: not the pending code", again, err)
	}
	if other := giveCode(t, p, "@a:x", "!b:x", noon); other == code {
		t.Error("two rooms share a code")
	}
	if info, err := os.Stat(filepath.Join(dir, "pairing.json")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	p = openPairing(t, dir) // a restart
	wants(t, p, "AAAAAAAA", noon, "", ErrWrongCode)
	wants(t, p, "", noon, "", ErrWrongCode)
	wants(t, p, code[:7], noon, "", ErrWrongCode)
	wants(t, p, " "+strings.ToLower(code[:4])+"-"+code[4:], noon, "@a:x", nil)
	wants(t, openPairing(t, dir), code, noon.Add(time.Minute), "@a:x", nil) // the command is repeated after a crash
	wants(t, p, code, noon.Add(time.Hour), "", ErrWrongCode)

	if again := giveCode(t, p, "@a:x", "!a:x", noon.Add(time.Minute)); again == code {
		t.Error("an accepted code was given out again")
	}
}

func TestPairingCodesEnd(t *testing.T) {
	p := openPairing(t, t.TempDir())
	code := giveCode(t, p, "@a:x", "!a:x", noon)
	wants(t, p, code, noon.Add(time.Hour-time.Second), "@a:x", nil)
	later := giveCode(t, p, "@b:x", "!b:x", noon)
	wants(t, p, later, noon.Add(time.Hour), "", ErrWrongCode)
	if next := giveCode(t, p, "@b:x", "!b:x", noon.Add(time.Hour)); next == later {
		t.Error("an expired code was given out again")
	}
	ahead := giveCode(t, p, "@c:x", "!c:x", noon.Add(48*time.Hour)) // the clock was wrong
	wants(t, p, ahead, noon, "", ErrWrongCode)
}

func TestPairingTooManyAttempts(t *testing.T) {
	dir := t.TempDir()
	p := openPairing(t, dir)
	code := giveCode(t, p, "@a:x", "!a:x", noon)
	for i := range MaxWrongAttempts {
		wants(t, p, "WRONGONE", noon.Add(time.Duration(i)*time.Minute), "", ErrWrongCode)
	}
	wants(t, p, code, noon.Add(30*time.Minute), "", ErrTooManyAttempts)
	p = openPairing(t, dir)
	wants(t, p, code, noon.Add(59*time.Minute), "", ErrTooManyAttempts)
	code = giveCode(t, p, "@b:x", "!b:x", noon.Add(time.Hour))
	wants(t, p, code, noon.Add(time.Hour), "@b:x", nil) // the first attempt was an hour ago
	wants(t, p, "WRONGONE", noon.Add(time.Hour), "", ErrWrongCode)
	wants(t, p, code, noon.Add(time.Hour), "", ErrTooManyAttempts)
}

func TestPairingBounds(t *testing.T) {
	dir := t.TempDir()
	p := openPairing(t, dir)
	full := func(user, room string) {
		t.Helper()
		if _, err := p.Code(user, room, noon); !errors.Is(err, ErrTooManyCodes) {
			t.Errorf("%s in %s: %v", user, room, err)
		}
	}
	for i := range MaxCodesPerUser {
		giveCode(t, p, "@a:s0", fmt.Sprintf("!%d:x", i), noon)
	}
	full("@a:s0", "!more:x")
	for i := range MaxCodesPerServer - MaxCodesPerUser {
		giveCode(t, p, fmt.Sprintf("@u%d:s0", i), "!r:x", noon)
	}
	full("@more:s0", "!r:x")
	for i := range MaxCodes - MaxCodesPerServer {
		giveCode(t, p, fmt.Sprintf("@u:s%d", i+1), "!r:x", noon)
	}
	full("@more:more", "!r:x")
	full("@"+strings.Repeat("a", 300)+":y", "!r:x")
	if _, err := p.Code("@u:s7", "!r:x", noon); err != nil {
		t.Errorf("a pending code is no longer found: %v", err)
	}

	// Accepted codes make room.
	for _, c := range p.kept.current(noon) {
		wants(t, p, c.Code, noon, c.User, nil)
	}
	giveCode(t, p, "@more:s0", "!r:x", noon)
	again := openPairing(t, dir)
	if diff := cmp.Diff(p.kept, again.kept); diff != "" {
		t.Error(diff)
	}
	giveCode(t, p, "@a:s0", "!r:x", noon.Add(time.Hour))
	if n := len(p.kept.Codes); n != 1 {
		t.Errorf("%d codes are kept after an hour", n)
	}
}

// A code that cannot be stored is not given out.
func TestPairingWithoutDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	p := openPairing(t, dir)
	if code, err := p.Code("@a:x", "!a:x", noon); err == nil || code != "" || len(p.kept.Codes) > 0 {
		t.Errorf("%q, %v, %v", code, err, p.kept)
	}
	for range MaxWrongAttempts {
		if _, _, err := p.Accept("WRONGONE", noon); err == nil || errors.Is(err, ErrWrongCode) {
			t.Error(err)
		}
	}
	wants(t, p, "WRONGONE", noon, "", ErrTooManyAttempts) // they counted
	if err := os.MkdirAll(filepath.Join(dir, "pairing.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPairing(dir, zerolog.Nop()); err == nil {
		t.Error("a folder at the path of the file counts as no file")
	}
}

// A file with unexpected content is replaced.
func TestPairingFileBroken(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "{}{}"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "pairing.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := openPairing(t, dir)
		if len(p.kept.Codes) > 0 {
			t.Errorf("%.40q gives codes", text)
		}
		wants(t, p, giveCode(t, p, "@a:x", "!a:x", noon), noon, "@a:x", nil)
	}
}

// All letters of the alphabet occur, and no others.
func TestNewCode(t *testing.T) {
	seen := map[rune]int{}
	const codes = 4000
	for range codes {
		for _, r := range newCode() {
			seen[r]++
		}
	}
	for _, r := range alphabet {
		if mean := codes * codeLength / len(alphabet); seen[r] < mean/2 || seen[r] > 2*mean {
			t.Errorf("%q comes up %d times, not about %d", r, seen[r], mean)
		}
	}
	if len(seen) != len(alphabet) || 256%len(alphabet) != 0 || strings.ContainsAny(alphabet, "01IO") {
		t.Errorf("%d letters", len(seen))
	}
}
