package policy

import "testing"

func TestProof(t *testing.T) {
	p, err := Parse([]byte("defaults: {require_encryption: owners}\nrooms:\n  '!vault:here': {require_encryption: all}\n  '!yard:here': {require_encryption: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		room string
		what Proof
		want bool
	}{
		{"!vault:here", ProofOwners, true}, {"!vault:here", ProofApprovals, true}, {"!vault:here", ProofAll, true},
		{"!den:here", ProofOwners, true}, {"!den:here", ProofApprovals, false}, {"!den:here", ProofAll, false},
		{"!yard:here", ProofOwners, true}, {"!yard:here", ProofApprovals, false},
	} {
		if got := p.Needs(c.room, c.what); got != c.want {
			t.Errorf("%s needs a proof of %s: %v", c.room, c.what, got)
		}
	}
	for _, text := range []string{"", "rooms: {'!den:here': {require_encryption: off}}"} {
		if p, err = Parse([]byte(text)); err != nil || p.Needs("!den:here", ProofOwners) || p.Needs("!yard:here", ProofApprovals) {
			t.Errorf("%q asks for a proof, %v", text, err)
		}
	}
	if (*Policy)(nil).Needs("!den:here", ProofOwners) {
		t.Error("without a file, a proof is asked for")
	}
	if _, err = Parse([]byte("defaults: {require_encryption: yes please}")); err == nil {
		t.Error("an unknown word is valid")
	}
}
