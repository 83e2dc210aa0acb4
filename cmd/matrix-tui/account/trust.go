package account

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/cmd/matrix-tui/settings"
)

// Trust accepts the identity that a user has now, or the sessions of a user who has
// none. The bot may run: it reads crypto.db with each message.
func Trust(ctx context.Context, a *cli.App, args []string) error {
	flags := a.Flags("trust")
	yes := flags.Bool("yes", false, "do not ask")
	user, err := a.ParseOne(flags, args, "USER")
	if err != nil {
		return err
	}
	cfg, err := a.Config(nil)
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
	case known[at].Present == "" && cfg.Devices != settings.FirstSeen:
		return fmt.Errorf("%s has no cross-signing identity: it is trusted by itself once it is set up", user)
	case known[at].Present == "" && len(known[at].New) == 0:
		fmt.Fprintf(a.Stdout, "The sessions of %s are trusted already.\n", user)
		return nil
	case known[at].Present == "":
		fmt.Fprintf(a.Stdout, "%s has no cross-signing identity, and sessions that the bot did not see at the first "+
			"contact:\n", user)
		for _, d := range known[at].New {
			fmt.Fprintf(a.Stdout, "  %q %s\n", d.ID, e2ee.Fingerprint(d.Key))
		}
	case !known[at].Changed():
		fmt.Fprintf(a.Stdout, "The identity of %s is trusted already. Its fingerprint is\n  %s\n", user,
			e2ee.Fingerprint(known[at].Present))
		return nil
	case known[at].First == "":
		fmt.Fprintf(a.Stdout, "%s had no identity at the first contact. Now there is one with the fingerprint\n  %s\n", user,
			e2ee.Fingerprint(known[at].Present))
	default:
		fmt.Fprintf(a.Stdout, "The identity of %s has changed. Its fingerprint was\n  %s\nand is now\n  %s\n", user,
			e2ee.Fingerprint(known[at].First), e2ee.Fingerprint(known[at].Present))
	}
	if !*yes {
		fmt.Fprintf(a.Stdout,
			"Only trust this if %s tells you, elsewhere than in Matrix, that it is theirs. Trust it? [y/N] ", user)
		line, _ := bufio.NewReader(a.Stdin).ReadString('\n') // no answer is a no
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			fmt.Fprintln(a.Stdout, "Nothing has changed.")
			return cli.ErrSaid
		}
	}
	if err := e2ee.Accept(ctx, string(cfg.StateDir), known[at]); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s is trusted. The bot handles the waiting messages within a minute, and shares its next "+
		"room keys with the trusted sessions.\n", user)
	return nil
}
