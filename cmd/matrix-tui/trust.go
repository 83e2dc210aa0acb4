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

// trustCommand accepts the identity that a user has now, or the sessions of a user who has
// none. The bot may run: it reads crypto.db with each message.
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
	case known[at].Present == "" && cfg.Devices != firstSeen:
		return fmt.Errorf("%s has no cross-signing identity: it is trusted by itself once it is set up", user)
	case known[at].Present == "" && len(known[at].New) == 0:
		fmt.Fprintf(a.stdout, "The sessions of %s are trusted already.\n", user)
		return nil
	case known[at].Present == "":
		fmt.Fprintf(a.stdout, "%s has no cross-signing identity, and sessions that the bot did not see at the first contact:\n", user)
		for _, d := range known[at].New {
			fmt.Fprintf(a.stdout, "  %q %s\n", d.ID, e2ee.Fingerprint(d.Key))
		}
	case !known[at].Changed():
		fmt.Fprintf(a.stdout, "The identity of %s is trusted already. Its fingerprint is\n  %s\n", user, e2ee.Fingerprint(known[at].Present))
		return nil
	case known[at].First == "":
		fmt.Fprintf(a.stdout, "%s had no identity at the first contact. Now there is one with the fingerprint\n  %s\n", user, e2ee.Fingerprint(known[at].Present))
	default:
		fmt.Fprintf(a.stdout, "The identity of %s has changed. Its fingerprint was\n  %s\nand is now\n  %s\n", user, e2ee.Fingerprint(known[at].First), e2ee.Fingerprint(known[at].Present))
	}
	if !*yes {
		fmt.Fprintf(a.stdout, "Only trust this if %s tells you, elsewhere than in Matrix, that it is theirs. Trust it? [y/N] ", user)
		line, _ := bufio.NewReader(a.stdin).ReadString('\n') // no answer is a no
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			fmt.Fprintln(a.stdout, "Nothing has changed.")
			return errSaid
		}
	}
	if err := e2ee.Accept(ctx, string(cfg.StateDir), known[at]); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s is trusted. The bot handles the waiting messages within a minute, and shares its next room keys with the trusted sessions.\n", user)
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
	var others, bare []string
	for _, i := range known {
		owner := slices.Contains(cfg.Owners, i.User)
		switch {
		case owner && i.Changed() && i.First == "":
			return bad("identities: owner %s has created a cross-signing identity since the first contact (%s), and the bot ignores its sessions until %s verifies one that the bot knows: or run `matrix-tui trust %s`", i.User, e2ee.Fingerprint(i.Present), i.User, i.User)
		case owner && i.Changed():
			return bad("identities: the cross-signing identity of owner %s has changed (it was %s, it is %s), and the bot ignores what %s encrypts: if %s has reset it, run `matrix-tui trust %s`", i.User, e2ee.Fingerprint(i.First), e2ee.Fingerprint(i.Present), i.User, i.User, i.User)
		case owner && i.Shares && i.Present == "" && cfg.Devices == firstSeen:
			bare = append(bare, i.User)
			if len(i.New) > 0 {
				return bad("identities: owner %s has no cross-signing identity, and the bot ignores sessions that it did not see at the first contact: set up recovery in the client (Element: Settings → Encryption), or run `matrix-tui trust %s`", i.User, i.User)
			}
		case owner && i.Shares && i.Present == "":
			return bad("identities: owner %s has no cross-signing identity, and the bot ignores what %s encrypts: set up recovery in the client (Element: Settings → Encryption), or set E2EE_DEVICES=all", i.User, i.User)
		case i.Changed():
			others = append(others, i.User)
		}
	}
	if len(others) > 0 {
		return good("identities: changed since first seen, so the bot ignores their encrypted messages until `matrix-tui trust USER`: %s", strings.Join(others, ", "))
	}
	if len(bare) > 0 {
		return good("identities: the bot trusts the sessions of owner %s that it saw first; set up recovery in the client (Element: Settings → Encryption), so that no homeserver can add one", strings.Join(bare, ", "))
	}
	return good("identities: none has changed since it was first seen")
}
