package roster

import (
	"slices"

	"matrix-tui/bot/policy"
)

// Access decides who may use the bot, and where.
type Access struct {
	Policy *policy.Source
	Owners []string // full user IDs
	Allow  []string // user IDs and globs; used if the policy has no list
}

// IsOwner reports whether a user is one of the owners.
func (a *Access) IsOwner(user string) bool { return slices.Contains(a.Owners, user) }

// MayUse decides whether a user may use the bot in a room; direct says that it is a direct chat.
func (a *Access) MayUse(room, user string, direct bool) policy.Decision {
	return a.Policy.Decide(policy.Query{Room: room, Sender: user, Owners: a.Owners, Allow: a.Allow, Direct: direct,
		Mentioned: true})
}

// Hears reports whether a user may use the bot in a room, as the room is now.
func (r *Roster) Hears(room, user string) bool { return r.MayUse(room, user, r.IsDirect(room)).Heard }
