package policy

import "slices"

// Reply says which messages are answered.
type Reply string

const (
	All         Reply = "all"
	MentionOnly Reply = "mention_only" // those that mention the bot or reply to it
	OwnerOnly   Reply = "owner_only"   // those of owners
	Off         Reply = "off"          // none; owners' commands still work
)

var replies = []Reply{All, MentionOnly, OwnerOnly, Off}

// In returns the rule, or the default for this kind of room if the file has none: nobody has to mention the bot while
// it is alone with one other person.
func (r Reply) In(alone bool) Reply {
	switch {
	case r != "":
		return r
	case alone:
		return All
	}
	return MentionOnly
}

// Query is what a decision needs to know about a message.
type Query struct {
	Room, Sender string   // full IDs
	Owners       []string // of the settings: full user IDs
	Allow        []string // of the settings: user IDs and globs; used if the file has no list
	Direct       bool     // a direct chat, by m.direct or the invite
	Alone        bool     // the bot and one other person are the only members
	Mentioned    bool     // it mentions the bot, or replies to one of the bot's messages
	Command      bool     // it is one of the bot's !commands
}

// Reasons for a decision.
const (
	ReasonOwner        = "owner"         // owners are always answered here
	ReasonAll          = "all"           // everyone who is heard is answered here
	ReasonMentioned    = "mentioned"     // it addresses the bot
	ReasonCommand      = "command"       // it is a command of somebody who may use it
	ReasonBlocked      = "blocked"       // not heard: the sender is blocked
	ReasonUnknown      = "unknown"       // not heard: the sender is in no list
	ReasonNotMentioned = "not_mentioned" // heard, but not addressed to the bot
	ReasonOwnerOnly    = "owner_only"    // heard, but only owners are answered here
	ReasonOff          = "off"           // heard, but nothing is answered here
)

// Decision says what happens to a message. One that is not heard leaves no visible trace but a pairing code, or a
// sentence a day for those who address the bot in vain.
type Decision struct {
	Heard  bool   // it is context for the agent, and its sender may use the bot
	Reply  bool   // it is a task or a command, and is answered
	Pair   bool   // not heard, and its sender gets a pairing code
	Told   bool   // it addresses the bot and is not answered, and its sender is told so
	Reason string // one of the Reasons
}

// Decide decides about a message. Owners are always heard; for everyone else, blocking wins over allowing.
func (p *Policy) Decide(q Query) Decision {
	r := p.room(q.Room)
	reply := r.Reply.In(q.Alone)
	owner := slices.Contains(q.Owners, q.Sender)
	if !owner {
		if listHas(r.block, q.Sender) {
			return Decision{Reason: ReasonBlocked}
		}
		if !r.allows(q.Sender, q.Allow) {
			answers := reply == All || reply == MentionOnly
			return Decision{Reason: ReasonUnknown, Pair: q.Direct && answers, Told: !q.Direct && answers && q.Mentioned}
		}
	}
	switch {
	case q.Command && (owner || reply == All || reply == MentionOnly):
		return Decision{Heard: true, Reply: true, Reason: ReasonCommand}
	case reply == Off:
		return Decision{Heard: true, Reason: ReasonOff}
	case reply == OwnerOnly && owner:
		return Decision{Heard: true, Reply: true, Reason: ReasonOwner}
	case reply == OwnerOnly:
		return Decision{Heard: true, Reason: ReasonOwnerOnly, Told: q.Mentioned}
	case q.Mentioned:
		return Decision{Heard: true, Reply: true, Reason: ReasonMentioned}
	case reply == MentionOnly:
		return Decision{Heard: true, Reason: ReasonNotMentioned}
	}
	return Decision{Heard: true, Reply: true, Reason: ReasonAll}
}

// Heard is the part of Decide that depends only on the sender: who may invite, react
// and answer.
func (p *Policy) Heard(q Query) bool { return p.Decide(q).Heard }

// allows checks the file's list, or the settings' list if the file has none.
func (r *Room) allows(user string, settings []string) bool {
	if r.allow != nil {
		return listHas(r.allow, user)
	}
	return listHas(settings, user)
}
