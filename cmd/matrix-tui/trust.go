package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state/sentence"
)

// trustCommand accepts the identity that a user has now. The bot may run: it
// reads crypto.db with each message.
func trustCommand(ctx context.Context, a *app, args []string) error {
	flags := a.flags("trust")
	yes := flags.Bool("yes", false, "do not ask")
	user, err := a.parseOne(flags, args, "USER")
	if err != nil {
		return err
	}
	cfg, err := a.config(nil)
	if err != nil {
		return err
	}
	known, err := e2ee.Identities(ctx, string(cfg.StateDir))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(known, func(i e2ee.Identity) bool { return i.User == user })
	switch {
	case at < 0:
		return fmt.Errorf("the bot has never seen a device of %s", user)
	case known[at].Present == "":
		return fmt.Errorf("%s has no cross-signing identity: it is trusted by itself once it is set up", user)
	case !known[at].Changed():
		fmt.Fprintf(a.stdout, "The identity of %s is trusted already. Its fingerprint is\n  %s\n", user, e2ee.Fingerprint(known[at].Present))
		return nil
	}
	fmt.Fprintf(a.stdout, "The identity of %s has changed. Its fingerprint was\n  %s\nand is now\n  %s\n", user, e2ee.Fingerprint(known[at].First), e2ee.Fingerprint(known[at].Present))
	if !*yes {
		fmt.Fprintf(a.stdout, "Only trust it if %s tells you, elsewhere than in Matrix, to have reset it. Trust it? [y/N] ", user)
		line, _ := bufio.NewReader(a.stdin).ReadString('\n') // no answer is a no
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			fmt.Fprintln(a.stdout, "Nothing has changed.")
			return errSaid
		}
	}
	if err := e2ee.Accept(ctx, string(cfg.StateDir), known[at]); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "The new identity of %s is trusted. The bot handles the waiting messages within a minute, and shares its next room keys with the verified sessions.\n", user)
	return nil
}

// checkIdentities checks that the owners' encrypted messages are obeyed, as far
// as the bot knows. The trial of an update skips it: the previous release may lack
// the command that fixes it.
func checkIdentities(ctx context.Context, cfg *Config) finding {
	if cfg.Devices == allDevices {
		return good("identities: E2EE_DEVICES is all, so the bot trusts every session that a homeserver reports")
	}
	known, err := e2ee.Identities(ctx, string(cfg.StateDir))
	if err != nil {
		return skipped("identities: cannot be read from crypto.db (%s)", sentence.Text(err))
	}
	var others []string
	for _, i := range known {
		owner := slices.Contains(cfg.Owners, i.User)
		switch {
		case owner && i.Changed():
			return bad("identities: the cross-signing identity of owner %s has changed (it was %s, it is %s), and the bot ignores what %s encrypts: if %s has reset it, run `matrix-tui trust %s`", i.User, e2ee.Fingerprint(i.First), e2ee.Fingerprint(i.Present), i.User, i.User, i.User)
		case owner && i.Shares && i.Present == "":
			return bad("identities: owner %s has no cross-signing identity, and the bot ignores what %s encrypts: set up recovery in the client (Element: Settings → Encryption), or set E2EE_DEVICES=all", i.User, i.User)
		case i.Changed():
			others = append(others, i.User)
		}
	}
	if len(others) > 0 {
		return good("identities: changed since first seen, so the bot ignores their encrypted messages until `matrix-tui trust USER`: %s", strings.Join(others, ", "))
	}
	return good("identities: none has changed since it was first seen")
}
