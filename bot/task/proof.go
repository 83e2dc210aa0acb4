package task

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
)

// Proof says how the people in a room must answer, because a homeserver can write unencrypted
// messages and reactions itself, and decides what an encrypted message replies to.
type Proof struct {
	Code  bool // a yes that grants something must be encrypted, and repeat the code of its question
	Clear bool // that is so, and the room is not encrypted
	Words bool // reactions do not answer
}

// Grants reports whether a yes to the newest question runs a command or allows more tokens.
func (q Question) Grants() bool { return q.IsHeld() || q.t.rec.Budget != 0 }

// Code returns the digits with which an encrypted yes names the open question. They are random, so a yes that was held
// back fits another question once in 10,000 times.
func (q Question) Code() string {
	sum := sha256.Sum256([]byte(q.Txn() + "\x00" + q.t.rec.Nonce + "\x00" + q.t.rec.HeldDir + "\x00" +
		q.t.rec.HeldCommand))
	return fmt.Sprintf("%04d", binary.BigEndian.Uint64(sum[:])%10_000)
}

var codes = regexp.MustCompile(`\b[0-9]{4}\b[\s,.:;]*`)

// marks are what people put around a yes.
var marks = strings.NewReplacer("`", "", "*", "", "_", "", `"`, "", "“", "", "”", "")

// Affirms reports whether an answer is a yes to a question that grants something, and whether it
// names that question by its code. A code, or a yes to a command with more words, is no decision yet: it is a yes that
// names nothing.
func (q Question) Affirms(answer string) (yes, named bool) {
	if !q.Grants() {
		return false, false
	}
	affirms := allowsMore
	if q.IsHeld() {
		affirms = IsYes
	}
	answer = marks.Replace(answer)
	found := codes.FindAllString(answer, -1)
	said := strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(codes.ReplaceAllString(answer, "")), ",.:; "),
		" please")
	said = strings.TrimRight(said, ",.:;")
	named = len(found) == 1 && found[0][:4] == q.Code()
	switch {
	case said == "":
		return len(found) > 0, false
	case affirms(said) || affirms(answer):
		return true, named
	case (q.IsHeld() && beginsYes(said) || strings.Contains(answer, q.Code())) && !denies(said):
		return true, false
	}
	return false, named
}

// how returns how to answer the question, without a full stop.
func (q Question) how(p Proof) string {
	if !p.Code || !q.Grants() {
		return answering(q.Options(), q.IsHeld(), p.Words)
	}
	no, said := "`no`", ""
	if !p.Words {
		no += " or " + q.Options()[1].Key
	}
	if p.Clear {
		said = "This room is not encrypted, and only an encrypted message can say yes: encrypt it first. "
	}
	does := "continue"
	if q.IsHeld() {
		does = "run it once"
	}
	return said + "Reply `yes " + q.Code() + "` to " + does + "; " + no + " refuses. Answer"
}
