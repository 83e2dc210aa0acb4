package doctor

import (
	"database/sql"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
)

func testKey(letter string) string { return strings.Repeat(letter, 43) }

// knowPeople fills a crypto.db like a bot that shares an encrypted room with everybody but @dan:x.
func knowPeople(t *testing.T, dir string) {
	t.Helper()
	key := base64.RawStdEncoding.EncodeToString(make([]byte, 32))
	for name, text := range map[string]string{"crypto.key": key, "crypto.db": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := e2ee.Revive(t.Context(), dir, false); err != nil { // creates the tables
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "crypto.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`
		INSERT INTO crypto_tracked_user (user_id, devices_outdated) VALUES ('@ann:x', false), ('@bob:x', false), ('@cid:x', false), ('@dan:x', false);
		INSERT INTO crypto_cross_signing_keys (user_id, usage, key, first_seen_key) VALUES
			('@ann:x', 'master', '` + testKey("A") + `', '` + testKey("A") + `'), ('@bob:x', 'master', '` + testKey("C") + `', 'odd\x1b'), ('@bob:x', 'self_signing', 'BOBS2', 'BOBS1');
		INSERT INTO crypto_device (user_id, device_id, identity_key, signing_key, trust, deleted, name) VALUES ('@cid:x', 'PHONE', 'I', '` + testKey("C") + `', 0, false, 'phone');
		INSERT INTO e2ee_room (room, encryption) VALUES ('!den:x', '{}');
		INSERT INTO e2ee_member (room, user, membership) VALUES ('!den:x', '@ann:x', 'join'), ('!den:x', '@bob:x', 'join'), ('!den:x', '@cid:x', 'invite'), ('!den:x', '@dan:x', 'leave')`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTrust(t *testing.T) {
	dir := t.TempDir()
	knowPeople(t, dir)
	run := func(answer string, args ...string) (code int, said string) {
		t.Helper()
		in := filepath.Join(t.TempDir(), "stdin")
		if err := os.WriteFile(in, []byte(answer), 0o600); err != nil {
			t.Fatal(err)
		}
		stdin, err := os.Open(in)
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		var out strings.Builder
		a := &cli.App{Environ: []string{"STATE_DIR=" + dir}, Dir: t.TempDir(), Stdin: stdin, Stdout: &out, Stderr: &out}
		return cli.Dispatch(t.Context(), a, doctorCommands, append([]string{"trust"}, args...)), out.String()
	}
	changed := func() bool {
		known, err := e2ee.Identities(t.Context(), dir)
		if err != nil || len(known) != 4 {
			t.Fatalf("%+v, %v", known, err)
		}
		return slices.ContainsFunc(known, e2ee.Identity.Changed)
	}
	for _, step := range []struct {
		answer  string
		args    []string
		code    int
		says    string
		changed bool
	}{
		{"", nil, 2, "takes one argument", true},
		{"", []string{"@eve:x"}, 1, "never seen a device of @eve:x", true},
		{"", []string{"@dan:x"}, 0, "The sessions of @dan:x are trusted already", true},
		{"", []string{"@cid:x"}, 1, "did not see at the first contact:\n  \"PHONE\" CCCC CCCC", true},
		{"y", []string{"@cid:x"}, 0, "@cid:x is trusted.", true},
		{"", []string{"@cid:x"}, 0, "The sessions of @cid:x are trusted already", true},
		{"", []string{"@ann:x"}, 0, "trusted already. Its fingerprint is\n  AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAA\n", true},
		{"", []string{"@bob:x"}, 1, "was\n  (not a key)\nand is now\n  CCCC CCCC CCCC CCCC CCCC CCCC CCCC CCCC CCCC CCCC CCC\n", true},
		{"no\n", []string{"@bob:x"}, 1, "Nothing has changed.", true},
		{"Yes\n", []string{"@bob:x"}, 0, "@bob:x is trusted.", false},
		{"", []string{"-yes", "@bob:x"}, 0, "trusted already", false},
	} {
		code, said := run(step.answer, step.args...)
		if code != step.code || !strings.Contains(said, step.says) || changed() != step.changed {
			t.Errorf("trust %v, answered %q: code %d, changed %v: %s", step.args, step.answer, code, changed(), said)
		}
	}
}

func TestCheckIdentities(t *testing.T) {
	dir := t.TempDir()
	cfg := &settings.Config{StateDir: settings.Folder(dir), Devices: settings.CrossSigned, Owners: settings.UserIDs{"@bob:x"}}
	begins(t, checkIdentities(t.Context(), cfg), "ok   identities: none has changed")
	knowPeople(t, dir)
	for owner, want := range map[string]string{
		"@bob:x": "FAIL identities: the cross-signing identity of owner @bob:x has changed (it was (not a key), it is CCCC CCCC",
		"@cid:x": "FAIL identities: owner @cid:x has no cross-signing identity",
		"@dan:x": "ok   identities: changed since first seen, so the bot ignores their encrypted messages until `matrix-tui trust USER`: @bob:x",
	} {
		cfg.Owners = settings.UserIDs{owner}
		begins(t, checkIdentities(t.Context(), cfg), want)
	}
	cfg.Devices, cfg.Owners = settings.FirstSeen, settings.UserIDs{"@cid:x"}
	begins(t, checkIdentities(t.Context(), cfg), "FAIL identities: owner @cid:x has no cross-signing identity, and the bot ignores sessions that it did not see")
	known, err := e2ee.Identities(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := e2ee.Accept(t.Context(), dir, known[slices.IndexFunc(known, func(i e2ee.Identity) bool { return i.User == "@cid:x" })]); err != nil {
		t.Fatal(err)
	}
	cfg.Owners = settings.UserIDs{"@cid:x"}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{filepath.Join(dir, "crypto.db"), filepath.Join(dir, "crypto.key")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("the check leaves %v, %v", files, err)
	}
	cfg.Devices = settings.AllDevices
	begins(t, checkIdentities(t.Context(), cfg), "ok   identities: E2EE_DEVICES is all")
}
