package task

import (
	"context"
	"time"

	"matrix-tui/bot/media"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// Room is what a task needs from its chat room. The room encodes and sends messages;
// the task supplies their content.
type Room interface {
	// Render returns the rows of messages without storing them: one for each, more
	// for a long text.
	Render(ctx context.Context, out ...Message) []state.Message
	// Queue stores messages and sends them in order.
	Queue(ctx context.Context, out ...Message) error
	// Wake starts sending messages that are already stored.
	Wake()
	// Edit changes the notice with a transaction ID immediately, without a retry. It
	// returns false while the notice is not in the room.
	Edit(ctx context.Context, txn, text string) bool
	// Fits reports whether a text is short enough for Edit.
	Fits(text string) bool
	// FitsHalf reports whether a text stays together in a message with others around it.
	FitsHalf(text string) bool
	// Type shows a typing indicator for d; 0 removes it.
	Type(ctx context.Context, d time.Duration) error
	// Types reports whether a person is typing.
	Types(user string) bool
	// Link returns a link to an event that also works for a user on another server.
	Link(room, event, user string) string
	// Proof says how the room's people must answer.
	Proof(ctx context.Context) Proof
	// Quote returns a message and a few before it, or nil if it has no text or is
	// unavailable.
	Quote(ctx context.Context, room, event string) (*workspace.Quote, error)
	// File returns the file of an event; ok is false if it has none.
	File(ctx context.Context, room, event string) (f media.File, ok bool, err error)
	// Fetch downloads a file. The caller closes it.
	Fetch(ctx context.Context, f media.File) (*media.Fetched, error)
	// Send uploads a file and queues its message for the task with the key. The error
	// is a [RefusedFile] if the homeserver rejects the file.
	Send(ctx context.Context, key, txn string, item *media.Item) error
}

// Message is a message that a task sends, with what only its room can decide.
type Message struct {
	state.Message
	Mention string   // user ID to notify, or ""
	Since   string   // event: it is no reply if nothing has been said since, except about the task; "" if it always is one
	Parts   []string // events that belong to the task
	Long    *Long    // set if the text may need several messages
}

// Origin is where a task was requested. Its messages go to the same place.
type Origin struct {
	Event  string
	Thread string // thread root, or ""
	Moved  bool   // Event is in a predecessor of this room, so nothing here can reply to it
}

// Reply makes a message a reply to an event or, if that is "", to the message of ours with the transaction ID about; in
// the origin's thread, if there is one. It relates to nothing if the event is the origin's and the room was upgraded
// since, because then the event is in the old room.
func (o Origin) Reply(m state.Message, event, about string) state.Message {
	switch {
	case o.Moved && event == o.Event:
		return m
	case o.Moved || o.Thread == "":
		m.Target, m.About = event, about
	default: // in a thread, a relation must be valid without resolving
		m.Target, m.Thread = o.Event, o.Thread
	}
	m.Relation = state.Reply
	return m
}

// OriginOf returns where a task was requested.
func OriginOf(rec state.Task) Origin { return Origin{rec.Event, rec.Thread, rec.Moved()} }

// Long says how to send a text that does not fit into one message.
type Long struct {
	Name   string     // of the file for a very long text
	Before string     // precedes the text, but is not in the file
	Kind   state.Kind // of all messages but the first
	Txn    string     // their transaction ID, to which a number is added
}

// RefusedFile is the error for a file that the homeserver rejects.
type RefusedFile struct {
	Said  string // reason, as the end of a sentence that starts with the file name
	Final bool   // retrying is useless
	Err   error
}

func (e *RefusedFile) Error() string { return "upload file: " + e.Err.Error() }
func (e *RefusedFile) Unwrap() error { return e.Err }
