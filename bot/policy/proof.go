package policy

import "slices"

// Proof says what the bot does only for encrypted messages from a verified session, because a
// homeserver can write everything else itself. Each includes those before it; "" is ProofOff.
type Proof string

const (
	ProofOff       Proof = "off"
	ProofOwners    Proof = "owners"    // what only owners may do
	ProofApprovals Proof = "approvals" // a yes to a command, or to more tokens
	ProofAll       Proof = "all"       // tasks and everything else, except stopping
)

var proofs = []Proof{ProofOff, ProofOwners, ProofApprovals, ProofAll}

// IsProof reports whether p is one of the above.
func IsProof(p Proof) bool { return slices.Contains(proofs, p) }

// Covers reports whether p includes what.
func (p Proof) Covers(what Proof) bool { return slices.Index(proofs, p) >= slices.Index(proofs, what) }

// Needs reports whether the file asks for a proof of something in a room. Owners have power over
// all rooms, so what they do anywhere needs the proof that any room asks for.
func (p *Policy) Needs(room string, what Proof) bool {
	if p.room(room).Proof.Covers(what) {
		return true
	}
	if what != ProofOwners || p == nil {
		return false
	}
	for _, own := range p.rooms {
		if own.Proof.Covers(what) {
			return true
		}
	}
	return p.defaults.Proof.Covers(what)
}
