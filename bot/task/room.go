package task

import (
	"context"
	"time"

	"matrix-tui/bot/media"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// Room is what a task needs of the chat room that it is worked on in. The room
// knows how messages are encoded and sent; a task only says what they are about.
type Room interface {
	// Render makes the rows of messages, without storing them: a row for each,
	// and more for a long text.
	Render(ctx context.Context, out ...Message) []state.Message
	// Queue stores messages and has them sent, in order.
	Queue(ctx context.Context, out ...Message) error
	// Wake has stored messages sent.
	Wake()
	// Edit changes the notice that was sent with a transaction ID, at once and at
	// best. It is false while the notice is not in the room.
	Edit(ctx context.Context, txn, text string) bool
	// Fits reports whether a text is short enough for Edit.
	Fits(text string) bool
	// Type shows for a time that the bot is typing; 0 ends that.
	Type(ctx context.Context, d time.Duration) error
	// Link is a link to an event of a room, for a person who may be on another server.
	Link(room, event, user string) string
	// ReactionsTrusted reports whether a reaction proves who sent it.
	ReactionsTrusted(ctx context.Context) bool
	// Quote is a message of a room, with a few before it, nil when it has no words
	// or cannot be had.
	Quote(ctx context.Context, room, event string) (*workspace.Quote, error)
	// File is the file that an event of a room carries; ok is false for none.
	File(ctx context.Context, room, event string) (f media.File, ok bool, err error)
	// Fetch downloads a file. The caller closes it.
	Fetch(ctx context.Context, f media.File) (*media.Fetched, error)
	// Send uploads a file and queues the message that refers to it, for the task of
	// that key. It is a [RefusedFile] when the homeserver does not take the file.
	Send(ctx context.Context, key, txn string, item *media.Item) error
}

// Message is something that a task says, or does to what it has said: a text, a
// reaction, or a redaction. Events are given by their IDs, own messages by
// [state.AboutRef].
type Message struct {
	Kind   state.Kind
	Task   string // key
	Number int    // of the question that it belongs to
	Txn    string // transaction ID

	Text    string // Markdown
	Notice  bool   // no phone rings for it
	Mention string // user ID of the one whose phone does
	Origin  Origin
	About   string // what it replies to, or reacts to; "" for nothing
	Edits   string // the own message that it replaces, by transaction ID
	Long    *Long  // where the text may be longer than a message

	Reaction string // the key of a reaction; there is no text then
	Redacts  string // the own event that is taken back, by transaction ID
}

// Origin is where a task was asked for: what is said about it after there too.
type Origin struct {
	Event  string
	Thread string // its root, or ""
	Moved  bool   // it is in a room before this one: nothing here can reply to it
}

// Long says what becomes of a text that does not fit into one message.
type Long struct {
	Name   string     // of the file that a very long text is put into
	Before string     // after before the text, and is no part of the file
	Kind   state.Kind // of the second message and those behind it
	Txn    string     // their transaction IDs without the number
}

// RefusedFile is a file that the homeserver does not take.
type RefusedFile struct {
	Said  string // why, as the end of a sentence about the file
	Final bool   // it will not take it later either
	Err   error
}

func (e *RefusedFile) Error() string { return "upload a file: " + e.Err.Error() }
func (e *RefusedFile) Unwrap() error { return e.Err }
