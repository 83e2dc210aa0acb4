package event

// Kind is what an event is to the bot. It is decided once, when the event is admitted or decrypted, and stored.
type Kind string

// Kinds of events.
const (
	KindContext       Kind = "context"       // asks for nothing
	KindCleartext     Kind = "cleartext"     // would ask for something if it were encrypted
	KindMessage       Kind = "message"       // a task, a part of one, or an answer to a question
	KindTask          Kind = "task"          // a task only: !task
	KindCommand       Kind = "command"       // any other !word
	KindUnsupported   Kind = "unsupported"   // a type of message that we cannot process
	KindEdit          Kind = "edit"          // of somebody else's message
	KindReaction      Kind = "reaction"      // to a message
	KindRedaction     Kind = "redaction"     // of somebody else's event
	KindStranger      Kind = "stranger"      // a message of an unknown user, who gets a pairing code
	KindInVain        Kind = "in vain"       // a message to the bot from somebody whom it does not work for in this room
	KindUndecrypted   Kind = "undecrypted"   // its key is missing, or its device is not trusted
	KindUndecryptable Kind = "undecryptable" // it will never be decrypted
	KindJoined        Kind = "joined"        // somebody else has joined
	KindLeft          Kind = "left"          // somebody else has left
	KindEntered       Kind = "entered"       // we have joined
	KindGone          Kind = "gone"          // we have been removed
	KindInvite        Kind = "invite"        // we were invited
	KindTombstone     Kind = "tombstone"     // the room was replaced
)

// Asks reports whether an event of this kind may ask for work.
func (k Kind) Asks() bool {
	return k == KindMessage || k == KindTask || k == KindCommand || k == KindUnsupported
}

// Addressee says whether an event that asks for work is for the bot.
type Addressee string

// Addressees.
const (
	ToBot        Addressee = "bot"
	ToBotIfAlone Addressee = "bot if alone" // if the bot and the sender are the room's only members
	Perhaps      Addressee = "perhaps"      // only if it answers a question, stops a task or is a part of one
)
