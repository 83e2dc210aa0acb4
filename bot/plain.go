package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/matrix/event"
	"matrix-tui/state"
)

// journal is the journal whose encrypted rows come out in plain; they stay in it
// as they came.
type journal struct {
	*state.Journal
	b *Bot
}

// Commit is [state.Journal.Commit].
func (j *journal) Commit(ctx context.Context, nextBatch string, events []state.Inbound) ([]state.Inbound, error) {
	rows, err := j.Journal.Commit(ctx, nextBatch, events)
	for i := range rows {
		if !j.b.isSelf(rows[i].Sender) { // nothing is done about our own
			rows[i] = j.b.plainRow(ctx, rows[i])
		}
	}
	return rows, err
}

// Pending is [state.Journal.Pending].
func (j *journal) Pending(ctx context.Context, room string, seq int64, n int) ([]state.Inbound, error) {
	rows, err := j.Journal.Pending(ctx, room, seq, n)
	return j.b.allPlain(ctx, rows), err
}

// Event is [state.Journal.Event].
func (j *journal) Event(ctx context.Context, room, event string) (state.Inbound, error) {
	row, err := j.Journal.Event(ctx, room, event)
	if err != nil {
		return row, err
	}
	return j.b.plainRow(ctx, row), nil
}

// PendingType is [state.Journal.PendingType].
func (j *journal) PendingType(ctx context.Context, room, eventType string) (state.Inbound, error) {
	row, err := j.Journal.PendingType(ctx, room, eventType)
	if err != nil {
		return row, err
	}
	return j.b.plainRow(ctx, row), nil
}

// Before is [state.Journal.Before].
func (j *journal) Before(ctx context.Context, room string, seq int64, n int) ([]state.Inbound, error) {
	rows, err := j.Journal.Before(ctx, room, seq, n)
	return j.b.allPlain(ctx, rows), err
}

func (b *Bot) allPlain(ctx context.Context, rows []state.Inbound) []state.Inbound {
	for i := range rows {
		rows[i] = b.plainRow(ctx, rows[i])
	}
	return rows
}

// plainRow is a row as if it had come in clear: Raw and Type are those of what
// was encrypted, or of a stand-in for what cannot be read. Other rows it returns
// as they are.
func (b *Bot) plainRow(ctx context.Context, row state.Inbound) state.Inbound {
	if row.Type != encryptedType {
		return row
	}
	var outer struct {
		Room    string `json:"room_id"` // where it was said: rows move with their rooms
		Content struct {
			Ciphertext json.RawMessage `json:"ciphertext"`
		} `json:"content"`
	}
	if json.Unmarshal(row.Raw, &outer) != nil || len(outer.Content.Ciphertext) == 0 {
		return row // its content was taken back
	}
	if outer.Room == "" {
		outer.Room = row.Room
	}
	key := outer.Room + row.Event
	if raw, ok := b.crypt.plain.get(key); ok {
		return inPlain(row, raw)
	}
	raw, err := b.account.Decrypt(ctx, outer.Room, row.Raw)
	switch {
	case err == nil:
		b.crypt.plain.put(key, raw)
		return inPlain(row, raw)
	case errors.Is(err, e2ee.ErrUnreadable):
		b.log.Info().Err(err).Str("room", row.Room).Str("event", row.Event).Msg("message cannot be decrypted")
		return standFor(row, outer.Room, typeUnreadable, sealedContent{})
	}
	var c sealedContent
	var noKey *e2ee.NoKeyError
	var untrusted *e2ee.UntrustedDeviceError
	switch {
	case errors.As(err, &noKey):
		c = sealedContent{Room: noKey.Room, Session: noKey.Session}
	case errors.As(err, &untrusted):
		c = sealedContent{untrusted.Room, untrusted.Session, untrusted.Reason}
	case ctx.Err() == nil:
		b.log.Warn().Err(err).Str("room", row.Room).Str("event", row.Event).Msg("message cannot be decrypted for now")
	}
	return standFor(row, outer.Room, typeSealed, c)
}

// inPlain puts a decrypted event into its row, if it is of a kind that people
// encrypt: an order to the homeserver, such as a redaction, counts only when that
// has seen it.
func inPlain(row state.Inbound, raw json.RawMessage) state.Inbound {
	e, _ := parseEvent(raw)
	switch {
	case e.Type == event.TypeMessage, e.Type == event.TypeReaction, e.Type == event.TypeSticker,
		strings.HasPrefix(e.Type, "m.key.verification."):
		row.Raw, row.Type = raw, e.Type
	}
	return row
}

// sealedContent is the content of a typeSealed event.
type sealedContent struct {
	Room     string        `json:"room"`
	Session  string        `json:"session"`
	Distrust e2ee.Distrust `json:"distrust,omitempty"` // of the device; "" where the key is missing
}

// standFor puts an event of our own in the place of one that cannot be read, and
// was said in a room.
func standFor(row state.Inbound, room, kind string, content sealedContent) state.Inbound {
	row.Type = kind
	row.Raw, _ = json.Marshal(map[string]any{ // strings and numbers cannot fail
		"event_id": row.Event, "room_id": room, "type": kind, "sender": row.Sender, "origin_server_ts": row.Time.UnixMilli(), "content": content,
	})
	return row
}

// withRoom notes in an event where it was said.
func withRoom(raw json.RawMessage, room string) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return raw
	}
	all["room_id"], _ = json.Marshal(room)
	out, err := json.Marshal(all)
	if err != nil {
		return raw
	}
	return out
}

// maxPlain bounds what plainRows keeps, in bytes.
const maxPlain = 4 << 20

// plainRows are events that were decrypted lately, so that a row which is looked
// at again and again is decrypted once.
type plainRows struct {
	mu   sync.Mutex
	rows map[string]json.RawMessage
	size int
}

func (p *plainRows) get(key string) (json.RawMessage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	raw, ok := p.rows[key]
	return raw, ok
}

func (p *plainRows) put(key string, raw json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows == nil || p.size+len(key)+len(raw) > maxPlain {
		p.rows, p.size = map[string]json.RawMessage{}, 0
	}
	if _, ok := p.rows[key]; !ok {
		p.size += len(key) + len(raw)
	}
	p.rows[key] = raw
}

// verify gives the encryption what belongs to a verification of this device.
func (b *Bot) verify(ctx context.Context, row state.Inbound) {
	if row.Type != event.TypeMessage && !strings.HasPrefix(row.Type, "m.key.verification.") {
		return
	}
	if e, _ := parseEvent(row.Raw); row.Type == event.TypeMessage {
		if m, ok := e.message(); !ok || m.MsgType != verificationRequest {
			return
		}
	}
	if b.isSelf(row.Sender) || time.Since(row.Time) > 10*time.Minute {
		return
	}
	_ = b.account.TakeVerification(ctx, row.Room, row.Raw)
}
