package policy

import "slices"

// Reply says which of the heard messages are answered.
type Reply string

const (
	All         Reply = "all"
	MentionOnly Reply = "mention_only" // those that mention the bot or reply to it
	OwnerOnly   Reply = "owner_only"   // those of owners
	Off         Reply = "off"          // none; owners' commands still work
)

var replies = []Reply{All, MentionOnly, OwnerOnly, Off}

// In returns the rule if the file leaves it open: nobody has to mention the bot
// while it is alone with one other person.
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
	Allow        []string // of the settings: user IDs and globs; counts where the file has no list
	Direct       bool     // a direct chat, by m.direct or the invite
	Alone        bool     // the bot and one other person are the only members
	Mentioned    bool     // it mentions the bot, or replies to a message of the bot's
	Command      bool     // it is a !word of ours
}

// Reasons of a decision.
const (
	ReasonOwner        = "owner"         // all that owners say is answered here
	ReasonAll          = "all"           // all that is heard is answered here
	ReasonMentioned    = "mentioned"     // it speaks to the bot
	ReasonCommand      = "command"       // it is a command of somebody who may
	ReasonBlocked      = "blocked"       // not heard: the sender is blocked
	ReasonUnknown      = "unknown"       // not heard: the sender is in no list
	ReasonNotMentioned = "not_mentioned" // heard, and not for the bot
	ReasonOwnerOnly    = "owner_only"    // heard, and only owners are answered here
	ReasonOff          = "off"           // heard, and nothing is answered here
)

// Decision is what happens to a message. One that is not heard must leave no visible
// trace.
type Decision struct {
	Heard  bool   // it is context for the agent, and its sender may use the bot
	Reply  bool   // it is a task or a command, and is answered
	Pair   bool   // not heard, and its sender is to get a pairing code
	Reason string // one of the Reasons
}

// Decide decides about a message. Owners are always heard; for others, blocking wins
// over allowing.
func (p *Policy) Decide(q Query) Decision {
	r := p.room(q.Room)
	reply := r.Reply.In(q.Alone)
	owner := slices.Contains(q.Owners, q.Sender)
	if !owner {
		if r.blocks(q.Sender) {
			return Decision{Reason: ReasonBlocked}
		}
		if !r.allows(q.Sender, q.Allow) {
			return Decision{Reason: ReasonUnknown, Pair: q.Direct && (reply == All || reply == MentionOnly)}
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
		return Decision{Heard: true, Reason: ReasonOwnerOnly}
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

func (r *Room) blocks(user string) bool {
	for _, list := range r.block {
		if list.has(user) {
			return true
		}
	}
	return false
}

// allows checks the file's list, or the settings' list if the file has none.
func (r *Room) allows(user string, settings []string) bool {
	if r.allow != nil {
		return r.allow.has(user)
	}
	return listHas(settings, user)
}
