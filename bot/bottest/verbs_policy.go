package bottest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// talkative is the policy of a script without one: the bot answers everyone, also in groups.
const talkative = "defaults:\n  reply: all\n"

// doPolicy replaces policy.yaml with a file of the script; $names in it are expanded. "none" means no file: the bot's
// defaults.
func doPolicy(_ context.Context, sc *script, _ bool, args []string) error {
	sc.ownPolicy = true
	path := filepath.Join(sc.state(), "policy.yaml")
	if args[0] == "none" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text := os.Expand(sc.ts.ReadFile(args[0]), sc.ts.Getenv)
	if err := os.MkdirAll(sc.state(), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(strings.TrimSpace(text)+"\n"), 0o600); err != nil {
		return fmt.Errorf("write policy: %w", err)
	}
	return nil
}

// defaultPolicy writes the policy of a script without one, before its bot's first start.
func (sc *script) defaultPolicy() error {
	path := filepath.Join(sc.state(), "policy.yaml")
	if _, err := os.Stat(path); err == nil || sc.ownPolicy {
		return nil
	}
	sc.ownPolicy = true
	if err := os.MkdirAll(sc.state(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(talkative), 0o600)
}

var pairingCode = regexp.MustCompile(`pairing code is (\S+)`)

// doPair makes somebody accept the pairing code that the bot gave in another room.
func doPair(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, err := sc.who(args[2], args[3])
	if err != nil {
		return err
	}
	m, err := newest(p, room, pairingCode.String(), false)
	if err != nil {
		return err
	}
	code := pairingCode.FindStringSubmatch(m.Body)[1]
	return doSay(ctx, sc, false, []string{args[0], args[1], "!pair " + code})
}
