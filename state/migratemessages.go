package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// fillMessages copies the outbound rows and derives kind, task and number.
func fillMessages(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO message (seq, txn, room, kind, task, number, type, content, about, event, status, error, at)
		SELECT seq, txn, room, '', task, 0, type, content, '', event, status, error, at FROM outbound`)
	if err != nil {
		return err
	}
	const query = "SELECT " + messageColumns + " FROM message WHERE seq > ? ORDER BY seq LIMIT ?"
	var last int64
	for {
		rows, err := queryAll(ctx, tx, scanMessage, query, last, oldPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, m := range rows {
			event := m.Task // in schema 2 this column held the event
			m.Task, m.Kind, m.Number = KindOfTxn(m.Txn)
			if event != "" {
				m.Task = oldKey(m.Room, event)
			}
			if _, err := tx.ExecContext(ctx, "UPDATE message SET kind = ?, task = ifnull((SELECT key FROM task WHERE key = ?), ''), number = ?, about = ? WHERE seq = ?",
				m.Kind, m.Task, m.Number, oldAbout(m.Content), m.Seq); err != nil {
				return err
			}
		}
		last = rows[len(rows)-1].Seq
	}
}

// oldAbout returns the transaction ID that a message refers to instead of an event, or
// "".
func oldAbout(content json.RawMessage) string {
	all := members(content)
	relation := members(all["m.relates_to"])
	for _, raw := range []json.RawMessage{all["redacts"], relation["event_id"], members(relation["m.in_reply_to"])["event_id"]} {
		if txn, ok := strings.CutPrefix(text(raw), aboutPrefix); ok {
			return txn
		}
	}
	return ""
}

// oldTxns maps suffixes of transaction IDs to kinds. The first group is the number.
var oldTxns = []struct {
	end  *regexp.Regexp
	kind Kind
}{
	{regexp.MustCompile(`^n([0-9]*)$`), KindNotice},
	{regexp.MustCompile(`^n([0-9]*)-e$`), KindNoticeEdit},
	{regexp.MustCompile(`^f([0-9]+)$`), KindFinal},
	{regexp.MustCompile(`^f([0-9]+)-s$`), KindTooLarge},
	{regexp.MustCompile(`^q([0-9]+)$`), KindQuestion},
	{regexp.MustCompile(`^q([0-9]+)-[0-9]+$`), KindQuestionPart},
	{regexp.MustCompile(`^q([0-9]+)-r[0-9]+$`), KindOption},
	{regexp.MustCompile(`^q([0-9]+)-w$`), KindReminder},
	{regexp.MustCompile(`^q([0-9]+)-e$`), KindQuestionEdit},
	{regexp.MustCompile(`^choice$`), KindQuestionEdit},
	{regexp.MustCompile(`^q[0-9]+-r[0-9]+-x$`), KindRedaction},
	{regexp.MustCompile(`^choice-x$`), KindRedaction},
	{regexp.MustCompile(`^(?:queued|eyes|end)$`), KindReaction},
	{regexp.MustCompile(`^(?:queued|eyes|end)-x$`), KindRedaction},
	{regexp.MustCompile(`^t$`), KindArrival},
	{regexp.MustCompile(`^(?:i[0-9a-f]+|or|ol)$`), KindFileNote},
	{regexp.MustCompile(`^a$`), KindReply},
	{regexp.MustCompile(`^u$`), KindUnreadable},
	{regexp.MustCompile(`^(?:u[0-9]+|updated)$`), KindUpdate},
	{regexp.MustCompile(`^g$`), KindGreeting},
	{regexp.MustCompile(`^sealed$`), KindMissingKey},
	{regexp.MustCompile(`^(?:code|paired)$`), KindPairing},
	{regexp.MustCompile(`^lost$`), KindLost},
}

// KindOfTxn derives a message's kind and number, and the key of its task or event, from
// its transaction ID. Use it only for messages without a row of their own: those of
// schema 2, and echoes of messages that the journal does not know. An unknown suffix
// counts as KindReply.
func KindOfTxn(txn string) (key string, kind Kind, number int) {
	key, end, ok := strings.Cut(txn, "-")
	if !ok {
		return "", KindFile, 0 // the ID of a file depends on its content
	}
	for _, one := range oldTxns {
		m := one.end.FindStringSubmatch(end)
		if m == nil {
			continue
		}
		if len(m) > 1 {
			number, _ = strconv.Atoi(m[1]) // "" is 0
		}
		return key, one.kind, number
	}
	return "", KindReply, 0
}
