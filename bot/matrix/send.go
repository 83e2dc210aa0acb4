package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"maunium.net/go/mautrix"
	mautrixevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/e2ee"
)

// Send sends an event, encrypted if the room is, and returns its ID. Sending again
// with the same transaction ID creates no second event. An empty txn stands for a
// new transaction. If the session ends between the encryption and the request, that
// fails with [IsUnknownToken], and the message must be sent again.
func (a *Account) Send(ctx context.Context, room, eventType, txn string, content any) (eventID string, err error) {
	data, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("marshal message: %w", err)
	}
	var out json.RawMessage
	err = a.use(func(m *e2ee.Machine) error {
		ctx = withSession(ctx, a.bearer.get()) // other sessions have other keys
		eventType, out, err = m.Encrypt(ctx, room, eventType, data)
		return err
	})
	if err != nil {
		return "", unencrypted(err)
	}
	return a.SendClear(ctx, room, eventType, txn, out)
}

// unencrypted returns what an error of the encryption means for the message. If the homeserver has refused something else,
// such as a request for keys, that is no verdict on the message.
func unencrypted(err error) error {
	if errors.Is(err, e2ee.ErrAlgorithm) || errors.Is(err, e2ee.ErrNoDevice) || IsAnswer(err) && !Transient(err) && !IsRejected(err) {
		return err
	}
	return &notEncrypted{err}
}

// SendClear is Send without encryption, even in an encrypted room.
func (a *Account) SendClear(ctx context.Context, room, eventType, txn string, content any) (eventID string, err error) {
	resp, err := a.client.SendMessageEvent(ctx, id.RoomID(room), mautrixevent.NewEventType(eventType), content, mautrix.ReqSendEvent{TransactionID: txn})
	if err != nil {
		return "", err
	}
	return resp.EventID.String(), nil
}

// Redact redacts an event and returns the ID of the redaction.
func (a *Account) Redact(ctx context.Context, room, txn, target string) (eventID string, err error) {
	resp, err := a.client.RedactEvent(ctx, id.RoomID(room), id.EventID(target), mautrix.ReqRedact{TxnID: txn})
	if err != nil {
		return "", err
	}
	return resp.EventID.String(), nil
}

// Type shows the typing notification for a time; 0 ends it.
func (a *Account) Type(ctx context.Context, room string, d time.Duration) error {
	_, err := a.client.UserTyping(ctx, id.RoomID(room), d > 0, d)
	return err
}

// MarkRead sends a read receipt.
func (a *Account) MarkRead(ctx context.Context, room, eventID string) error {
	return a.client.MarkRead(ctx, id.RoomID(room), id.EventID(eventID))
}

// LinkTo returns a matrix.to link to an event; via names servers in the room.
func LinkTo(room, eventID string, via ...string) string {
	return id.RoomID(room).EventURI(id.EventID(eventID), via...).MatrixToURL()
}
