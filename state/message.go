package state

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/state/disk"
	"matrix-tui/state/event"
)

// Kind is the kind of a message of ours. The words are on disk.
type Kind string

// Messages about a task. Number distinguishes several of one kind.
const (
	KindNotice       Kind = "notice"        // shows progress; Number: how many answers the task has so far
	KindNoticeEdit   Kind = "notice-edit"   // the final text of a notice; Number as there
	KindFinal        Kind = "final"         // the result; Number: its part
	KindTooLarge     Kind = "too-large"     // instead of a part of the result that the homeserver refused
	KindQuestion     Kind = "question"      // Number: of the question
	KindQuestionPart Kind = "question-part" // the rest of a long question; Number: of the question
	KindOption       Kind = "option"        // a reaction on a question; Number: of the question
	KindQuestionEdit Kind = "question-edit" // how a question was answered or closed; Number: of the question
	KindReminder     Kind = "reminder"      // Number: of the question
	KindArrival      Kind = "arrival"       // a task came by HTTP
	KindFile         Kind = "file"          // made by the agent
	KindFileNote     Kind = "file-note"     // a file could not be sent or fetched
	KindReaction     Kind = "reaction"      // on the task's message: the progress of the task
	KindRedaction    Kind = "redaction"     // of such a reaction or option
	KindLost         Kind = "lost"          // the journal no longer knows the task
)

// Other messages.
const (
	KindReply      Kind = "reply" // to a command or an answer
	KindUnreadable Kind = "unreadable"
	KindMissingKey Kind = "missing-key"
	KindCleartext  Kind = "cleartext" // a message was not obeyed
	KindUnread     Kind = "unread"    // a gap was too large to be read
	KindUpgrade    Kind = "upgrade"   // what an upgrade of the room waits for
	KindGreeting   Kind = "greeting"
	KindPairing    Kind = "pairing"
	KindAlert      Kind = "alert"  // to the owners
	KindUpdate     Kind = "update" // progress and result of a self-update
)

// OutStatus is the status of an outgoing message. The numbers are on disk.
type OutStatus int

const (
	Unsent  OutStatus = 0 // to be sent, or sent without a response: send it (again)
	Sent    OutStatus = 1 // the homeserver has it
	Refused OutStatus = 2 // the homeserver will never accept it
)

// Message is an outgoing message.
type Message struct {
	Txn    string // transaction ID: resending with the same ID makes no second message
	Room   string
	Kind   Kind
	Task   string // key of the task that it is about, or ""
	Number int    // see Kind

	Relation Relation
	Target   string // the event that it relates to, or
	About    string // the transaction ID of a message of ours that may not be sent yet: its event is the target
	Thread   string // root of the thread that it is in, or ""

	Notice   bool            // notifies nobody
	Body     string          // Markdown; the name of a file; the key of a reaction
	Details  string          // Markdown that is shown when somebody clicks on Small or, without that, on Body; or ""
	Small    string          // a last line in small letters, or ""
	Mentions []string        // user IDs to notify
	File     *event.FileInfo // nil if it has none

	Event  string // its event, once Sent
	Seq    int64  // messages of a room are sent in this order
	Status OutStatus
	Error  string // why it was Refused
}

// Relation is how a message of ours relates to another event. The words are on disk.
type Relation string

// Relations.
const (
	Reply     Relation = "reply"
	Follows   Relation = "thread" // goes on in its thread; clients without threads show a reply
	Edit      Relation = "edit"
	Reaction  Relation = "reaction"
	Redaction Relation = "redaction"
)

// Following returns a message as one that goes on after another: in its thread, if it is in one, but no reply.
func (m Message) Following() Message {
	m.Relation, m.About = Follows, ""
	if m.Thread == "" {
		m.Relation, m.Target = "", ""
	}
	return m
}

// Says reports whether a message is text or a file.
func (m Message) Says() bool { return m.Relation != Reaction && m.Relation != Redaction }

// The queries on messages; a test makes sure that none of them scans the table.
const (
	messageColumns = "txn, room, kind, task, number, relation, target, about, thread, notice, body, details, small, " +
		"mentions, file, " +
		"event, seq, status, error"

	queryMessage   = "SELECT " + messageColumns + " FROM message WHERE txn = ?"
	queryUnsent    = "SELECT " + messageColumns + " FROM message WHERE room = ? AND status = 0 ORDER BY seq LIMIT ?"
	queryMessageOf = "SELECT " + messageColumns + " FROM message WHERE room = ? AND event = ? AND event <> ''"
	queryFilesOf   = "SELECT " + messageColumns + " FROM message WHERE room = ? AND event <> '' AND task = ? AND " +
		"kind = 'file' LIMIT ?"
	queryAnswered    = "SELECT count(*) FROM message WHERE txn IN (? || '-f0', ? || '-f0-s', ? || '-a')"
	queryUnsentRooms = "SELECT DISTINCT room FROM message WHERE status = 0 ORDER BY room"
)

// Answered reports whether the journal has a message that finished the event or task
// with this key: a result, its substitute, or a reply.
func (j *Messages) Answered(ctx context.Context, key string) (bool, error) {
	n, err := value[int](ctx, j.core, "look up answer", queryAnswered, key, key, key)
	return n > 0, err
}

// Queue stores messages to be sent, in one transaction. One with a known transaction ID stays unchanged.
func (j *Messages) Queue(ctx context.Context, out ...Message) error {
	if len(out) == 0 {
		return nil
	}
	return j.change(ctx, "queue messages", func(tx *sql.Tx) error { return insertMessages(ctx, tx, out) })
}

func insertMessages(ctx context.Context, tx *sql.Tx, out []Message) error {
	at := time.Now().UnixMilli()
	for _, m := range out {
		if m.Txn == "" || m.Room == "" || m.Kind == "" {
			return errors.New("message without transaction ID, room or kind")
		}
		var file string
		if m.File != nil {
			file = string(disk.JSON(m.File))
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO message (txn, room, kind, task, number, relation, target, about, thread,
			notice, body, details, small, mentions, file, event, status, error, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (txn) DO NOTHING`,
			m.Txn, m.Room, m.Kind, m.Task, m.Number, m.Relation, m.Target, m.About, m.Thread, m.Notice, m.Body, m.Details,
			m.Small,
			strings.Join(m.Mentions, " "), file, m.Event, m.Status, m.Error, at)
		if err != nil {
			return err
		}
	}
	return nil
}

// Unsent returns the messages of a room that are to be sent, in order, at most MaxBatch of them.
func (j *Messages) Unsent(ctx context.Context, room string) ([]Message, error) {
	return list(ctx, j.core, "look up unsent messages", scanMessage, queryUnsent, room, MaxBatch)
}

// Next returns the room's first message to be sent, or ErrNotFound. It returns
// none while the echo of that message may be in a [Gap].
func (j *Messages) Next(ctx context.Context, room string) (Message, error) {
	m, err := one(ctx, j.core, "look up unsent message", scanMessage, queryUnsent, room, 1)
	if err != nil {
		return m, err
	}
	unclear, err := value[int64](ctx, j.core, "look up gaps", queryUnclear, room)
	if err == nil && m.Seq <= unclear {
		return Message{}, ErrNotFound
	}
	return m, err
}

// UnsentRooms returns the rooms that have messages to be sent.
func (j *Messages) UnsentRooms(ctx context.Context) ([]string, error) {
	return list(ctx, j.core, "look up rooms with unsent messages", scanText, queryUnsentRooms)
}

// LastSeq returns the highest Seq of all messages, 0 if there are none. It grows with each new message.
func (j *Messages) LastSeq(ctx context.Context) (int64, error) {
	return value[int64](ctx, j.core, "look up last message", "SELECT ifnull(max(seq), 0) FROM message")
}

// Get returns one message, or ErrNotFound.
func (j *Messages) Get(ctx context.Context, txn string) (Message, error) {
	return one(ctx, j.core, "look up message", scanMessage, queryMessage, txn)
}

// Of returns the message that became an event of the room, or ErrNotFound: the event is not ours then.
func (j *Messages) Of(ctx context.Context, room, event string) (Message, error) {
	return one(ctx, j.core, "look up message of event", scanMessage, queryMessageOf, room, event)
}

// FilesOf returns the files that a task has sent to the room, in order, at most MaxBatch of them. It reads all that the
// journal has of what we have sent there.
func (j *Messages) FilesOf(ctx context.Context, room, task string) ([]Message, error) {
	files, err := list(ctx, j.core, "look up files of a task", scanMessage, queryFilesOf, room, task, MaxBatch)
	slices.SortFunc(files, func(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return files, err
}

// MarkSent records which event a message became. It returns ErrNotFound for an unknown transaction ID, and ErrTwice if
// the message became another event before.
func (j *Messages) MarkSent(ctx context.Context, txn, event string) error {
	err := j.mark(ctx, "mark message sent",
		"UPDATE message SET status = 1, event = ?2, error = '' WHERE txn = ?1 AND (status <> 1 OR event IN ('', ?2))", txn,
		event)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if _, err := j.Get(ctx, txn); err != nil {
		return err
	}
	return ErrTwice
}

// MarkRefused records that the homeserver will never accept a message, and why. A sent message stays sent.
func (j *Messages) MarkRefused(ctx context.Context, txn, why string) error {
	return j.mark(ctx, "mark message refused",
		"UPDATE message SET status = iif(status = 1, 1, 2), error = iif(status = 1, error, ?2) WHERE txn = ?1", txn,
		disk.Clip(why, 4096))
}

// Unsay removes what a message says from the journal. One that is not sent yet is not sent any more.
func (j *Messages) Unsay(ctx context.Context, txn string) error {
	return j.mark(ctx, "remove a message's text",
		"UPDATE message SET body = '', details = '', small = '', file = '', status = iif(status = 1, 1, 2) WHERE txn = ?1",
		txn)
}

func scanMessage(row scanner) (m Message, err error) {
	var mentions, file string
	err = row.Scan(&m.Txn, &m.Room, &m.Kind, &m.Task, &m.Number, &m.Relation, &m.Target, &m.About, &m.Thread,
		&m.Notice, &m.Body, &m.Details, &m.Small, &mentions, &file, &m.Event, &m.Seq, &m.Status, &m.Error)
	if err == nil && file != "" {
		if err = readJSON(file, &m.File); err != nil {
			err = fmt.Errorf("read file of message %s: %w", m.Txn, err)
		}
	}
	m.Mentions = strings.Fields(mentions)
	return m, err
}
