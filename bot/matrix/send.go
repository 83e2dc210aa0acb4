package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"maunium.net/go/mautrix"
	mautrixevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/state"
)

// Send sends a message, encrypted if the room is, and returns the ID of its event. Target is the event that it relates
// to. Sending again with the same transaction ID creates no second event. An empty one stands for a new transaction. If
// the session ends between the encryption and the request, that fails with [IsUnknownToken], and the message must be
// sent again.
func (a Messages) Send(ctx context.Context, m state.Message) (eventID string, err error) {
	if m.Relation == state.Redaction {
		resp, err := a.client.RedactEvent(ctx, id.RoomID(m.Room), id.EventID(m.Target), mautrix.ReqRedact{TxnID: m.Txn})
		if err != nil {
			return "", err
		}
		return resp.EventID.String(), nil
	}
	eventType, content := encode(m)
	err = a.use(func(machine *e2ee.Machine) error {
		ctx = withSession(ctx, a.bearer.get()) // other sessions have other keys
		eventType, content, err = machine.Encrypt(ctx, m.Room, eventType, content)
		return err
	})
	if err != nil {
		return "", unencrypted(err)
	}
	return a.put(ctx, m, eventType, content)
}

// unencrypted returns what an error of the encryption means for the message. If the homeserver has refused something
// else, such as a request for keys, that is no verdict on the message.
func unencrypted(err error) error {
	if errors.Is(err, e2ee.ErrAlgorithm) || errors.Is(err, e2ee.ErrNoDevice) ||
		IsAnswer(err) && !Transient(err) && !IsRejected(err) {
		return err
	}
	return &notEncrypted{err}
}

// SendClear is Send without encryption, even in an encrypted room. It sends no redactions.
func (a Messages) SendClear(ctx context.Context, m state.Message) (eventID string, err error) {
	eventType, content := encode(m)
	return a.put(ctx, m, eventType, content)
}

func (a Messages) put(ctx context.Context, m state.Message, eventType string,
	content json.RawMessage) (eventID string, err error) {
	resp, err := a.client.SendMessageEvent(ctx, id.RoomID(m.Room), mautrixevent.NewEventType(eventType), content,
		mautrix.ReqSendEvent{TransactionID: m.Txn})
	if err != nil {
		return "", err
	}
	return resp.EventID.String(), nil
}

// Type shows the typing notification for a time; 0 ends it.
func (a Messages) Type(ctx context.Context, room string, d time.Duration) error {
	_, err := a.client.UserTyping(ctx, id.RoomID(room), d > 0, d)
	return err
}

// MarkRead sends a read receipt.
func (a Messages) MarkRead(ctx context.Context, room, eventID string) error {
	return a.client.MarkRead(ctx, id.RoomID(room), id.EventID(eventID))
}

// LinkTo returns a matrix.to link to an event; via names servers in the room.
func LinkTo(room, eventID string, via ...string) string {
	return id.RoomID(room).EventURI(id.EventID(eventID), via...).MatrixToURL()
}
