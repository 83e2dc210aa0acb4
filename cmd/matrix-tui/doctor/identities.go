package doctor

import (
	"context"
	"slices"
	"strings"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/sentence"
)

// checkIdentities checks that the owners' encrypted messages are obeyed, as far
// as the bot knows. An update skips it: the previous release may lack the command that
// fixes it.
func checkIdentities(ctx context.Context, cfg *settings.Config) Finding {
	if cfg.Devices == settings.AllDevices {
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
			return bad("identities: owner %s has created a cross-signing identity since the first contact (%s), and the bot "+
				"ignores its sessions until %s verifies one that the bot knows: or run `matrix-tui trust %s`", i.User,
				e2ee.Fingerprint(i.Present), i.User, i.User)
		case owner && i.Changed():
			return bad("identities: the cross-signing identity of owner %s has changed (it was %s, it is %s), and the bot "+
				"ignores what %s encrypts: if %s has reset it, run `matrix-tui trust %s`", i.User, e2ee.Fingerprint(i.First),
				e2ee.Fingerprint(i.Present), i.User, i.User, i.User)
		case owner && i.Shares && i.Present == "" && cfg.Devices == settings.FirstSeen:
			bare = append(bare, i.User)
			if len(i.New) > 0 {
				return bad("identities: owner %s has no cross-signing identity, and the bot ignores sessions that it did not see "+
					"at the first contact: set up recovery in the client (Element: Settings → Encryption), or run `matrix-tui trust "+
					"%s`", i.User, i.User)
			}
		case owner && i.Shares && i.Present == "":
			return bad("identities: owner %s has no cross-signing identity, and the bot ignores what %s encrypts: set up "+
				"recovery in the client (Element: Settings → Encryption), or set E2EE_DEVICES=all", i.User, i.User)
		case i.Changed():
			others = append(others, i.User)
		}
	}
	if len(others) > 0 {
		return good("identities: changed since first seen, so the bot ignores their encrypted messages until `matrix-tui "+
			"trust USER`: %s", strings.Join(others, ", "))
	}
	if len(bare) > 0 {
		return good("identities: the bot trusts the sessions of owner %s that it saw first; set up recovery in the client "+
			"(Element: Settings → Encryption), so that no homeserver can add one", strings.Join(bare, ", "))
	}
	return good("identities: none has changed since it was first seen")
}
