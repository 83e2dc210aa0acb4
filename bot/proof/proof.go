// Package proof decides who must prove that a message is theirs. A homeserver can write every unencrypted event itself,
// and invent a direct chat with an owner. It can also add a device to an account, but not sign it. So what counts as a
// proof is [event.Verified].
package proof

import (
	"context"
	"slices"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// HowToVerify says where clients verify a session.
const HowToVerify = "Element: Settings → Sessions (or Encryption) → Verify. Element X: Confirm your identity. Cinny: " +
	"Settings → Devices → Verify Manually."

// Rules say what needs a proof.
type Rules struct {
	// All is what needs one in every room; "": nothing until an owner has a cross-signing identity, and from then on
	// policy.ProofApprovals.
	All     policy.Proof
	Owners  []string
	Policy  *policy.Source
	Account *matrix.Account
}

// Needed reports whether something needs a proof in a room.
func (r *Rules) Needed(ctx context.Context, room string, what policy.Proof) (bool, error) {
	switch {
	case r.All.Covers(what), r.Policy.Now().Needs(room, what):
		return true, nil
	case r.All != "" || !policy.ProofApprovals.Covers(what):
		return false, nil
	}
	return r.Account.Keys.HasIdentity(ctx, r.Owners)
}

// Missing returns what the sender of an event is told if it needs a proof and has none, else "".
func (r *Rules) Missing(ctx context.Context, e event.Event, what policy.Proof) (said string, err error) {
	if e.Encryption == event.Verified {
		return "", nil
	}
	needed, err := r.Needed(ctx, e.Room, what)
	if err != nil || !needed {
		return "", err
	}
	if e.IsDecrypted() {
		return "I take this only from a verified session, and yours is not verified. " +
			"Verify it (first set up your identity if you have none), and send it again.\n" + HowToVerify, nil
	}
	return "I take this only from an encrypted chat: your homeserver could have written it. " +
		"Send it again in an encrypted chat with me, from a verified session.", nil
}

// Granted returns the answer to store if an event may answer a question with it, or what its sender
// is told instead. A yes that grants something names its question, because relations and the order of
// events are the homeserver's.
func (r *Rules) Granted(ctx context.Context, row state.Event, q task.Question,
	answer string) (given, said string, err error) {
	what := policy.ProofAll
	yes, named := q.Affirms(answer)
	if yes {
		what = policy.ProofApprovals
		if !q.IsHeld() && slices.Contains(r.Owners, row.Sender) {
			what = policy.ProofOwners // beyond twice the limit, only owners allow more
		}
	}
	if said, err = r.Missing(ctx, row.Event, what); err != nil {
		return "", "", err
	}
	reaction, encrypted := !row.Spoken(), row.IsDecrypted()
	if yes && reaction {
		if encrypted, err = r.Account.Keys.IsEncrypted(ctx, row.Room); err != nil {
			return "", "", err
		}
	}
	name := " reply `yes " + q.Code() + "` to my question."
	switch {
	case reaction && yes && encrypted:
		return "", reactionText + "If you mean yes," + name, nil
	case reaction && said != "":
		return "", reactionText + "Reply to my question in an encrypted message instead.", nil
	case yes && !encrypted && said != "":
		return "", "A yes to this counts only in an encrypted message from a verified session. Encrypt this room, then" +
			name, nil
	case said != "":
		return "", said, nil
	case yes && named:
		return "yes", "", nil
	case yes && encrypted:
		return "", "To say yes," + name + " Without the code, your homeserver could have made this an answer to it.", nil
	case yes && q.IsHeld() && !task.IsYes(answer):
		return "", "To run it, answer just `yes`; to refuse, `no`.", nil
	}
	return answer, "", nil
}

const reactionText = "Reactions are not encrypted, so your homeserver could have added that one. "
