package e2ee

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/verificationhelper"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	wire "matrix-tui/state/event"
	"matrix-tui/state/retry"
)

// SAS is the short authentication string that both sides of a verification see. If
// the two differ, the person rejects it in their client, which then signs nothing.
type SAS struct {
	User     string
	Emojis   []string // seven, each with its name: "🐶 Dog"
	Decimals []int    // three, for clients without emojis
}

// verifyTime is the timeout for a verification.
const verifyTime = 10 * time.Minute

// settleTime is the age of a request in a room when it is answered, at the earliest.
// Element ignores an answer that overtakes the homeserver's response to its request:
// matrix-js-sdk learns of the request's event ID from that.
const settleTime = time.Second

// maxVerifications is the maximum number of concurrent verifications.
const maxVerifications = 20

// verifier handles verifications that an owner starts. This device
// confirms automatically, because the person compares. m.mu is held in all of its
// methods.
type verifier struct {
	m      *core
	helper *verificationhelper.VerificationHelper
	syncer *mautrix.DefaultSyncer // calls the helper's handlers
	active map[id.VerificationTransactionID]verification
	todo   []func(context.Context) error // work queued by callbacks, which hold the helper's locks
}

type verification struct {
	user  id.UserID
	until time.Time
}

// newVerifier returns the verifier of a machine. m.mu is held.
func newVerifier(ctx context.Context, m *core) (*verifier, error) {
	cli := m.mach.Client // the machine itself sends no room events
	v := &verifier{m: m, syncer: cli.Syncer.(*mautrix.DefaultSyncer),
		active: map[id.VerificationTransactionID]verification{}}
	cli.Crypto = encrypter{s: m.answers}
	cli.StateStore = stateStore{mautrix.NewMemoryStateStore(), m.rooms}
	v.helper = verificationhelper.NewVerificationHelper(cli, m.mach, verificationhelper.NewInMemoryVerificationStore(),
		callbacks{v}, false, false, true)
	if err := v.helper.Init(ctx); err != nil {
		return nil, fmt.Errorf("prepare verifications: %w", err)
	}
	return v, nil
}

// take passes a to-device event or a room event to the helper.
func (v *verifier) take(ctx context.Context, e *event.Event) {
	user, txn, request := e.Sender, transaction(e), isRequest(e)
	now := time.Now()
	for known, of := range v.active {
		if now.After(of.until) {
			delete(v.active, known)
		}
	}
	of, known := v.active[txn]
	switch {
	case txn == "":
		return
	case request:
		if known || len(v.active) >= maxVerifications || v.m.cfg.Owner == nil || !v.m.cfg.Owner(user.String()) {
			return
		}
		v.active[txn] = verification{user: user, until: now.Add(verifyTime)}
	case !known || of.user != user:
		return
	}
	if e.RoomID != "" && !request {
		e.ID = id.EventID(txn) // the helper uses the event's ID as the transaction ID
	}
	v.syncer.Dispatch(ctx, e)
	for len(v.todo) > 0 {
		act := v.todo[0]
		v.todo = v.todo[1:]
		if err := act(ctx); err != nil {
			v.m.log.Warn().Err(err).Stringer("user", user).Msg("cannot continue the verification")
		}
	}
}

func isRequest(e *event.Event) bool {
	return e.Type == event.ToDeviceVerificationRequest || e.Type == event.EventMessage
}

// transaction returns the ID of the verification that an event belongs to, or "".
func transaction(e *event.Event) id.VerificationTransactionID {
	if e.Type == event.EventMessage {
		return id.VerificationTransactionID(e.ID)
	}
	if e.RoomID != "" {
		if c, ok := e.Content.Parsed.(event.Relatable); ok && c.OptionalGetRelatesTo() != nil {
			return id.VerificationTransactionID(c.OptionalGetRelatesTo().EventID)
		}
		return ""
	}
	if c, ok := e.Content.Parsed.(event.VerificationTransactionable); ok {
		return c.GetTransactionID()
	}
	return ""
}

// ProcessVerification processes a room event of a verification, decrypted if it was
// encrypted: an m.room.message with msgtype m.key.verification.request or an
// m.key.verification.*. It reports whether the event was one, and ignores those of
// users who are not owners.
func (m *Machine) ProcessVerification(ctx context.Context, in wire.Event) bool {
	if in.StateKey != nil {
		return false
	}
	e := event.Event{
		ID: id.EventID(in.ID), RoomID: id.RoomID(in.Room), Sender: id.UserID(in.Sender), Timestamp: in.Time.UnixMilli(),
		Type: event.Type{Type: in.Type, Class: event.MessageEventType},
	}
	ours := strings.HasPrefix(e.Type.Type, "m.key.verification.")
	if !ours && e.Type != event.EventMessage {
		return false
	}
	if json.Unmarshal(in.Content, &e.Content) != nil || e.Content.ParseRaw(e.Type) != nil {
		return ours
	}
	if c, ok := e.Content.Parsed.(*event.MessageEventContent); ok && c.MsgType != event.MsgVerificationRequest {
		return false
	}
	if e.Sender == m.cfg.Client.UserID || e.ID == "" || m.deviceless() {
		return true
	}
	if isRequest(&e) && m.cfg.Owner != nil && m.cfg.Owner(in.Sender) {
		_ = retry.Sleep(ctx, min(settleTime, settleTime-time.Since(in.Time)))
	}
	m.answerOwner(ctx, e.RoomID, e.Sender, func() { m.verify.take(m.log.WithContext(ctx), &e) })
	return true
}

// answerOwner calls f with m.mu held, after it has prepared answers to an owner's verification in a
// room, but not for long, because a sync waits for it.
func (m *Machine) answerOwner(ctx context.Context, room id.RoomID, user id.UserID, f func()) {
	if m.cfg.Owner != nil && m.cfg.Owner(user.String()) {
		soon, cancel := context.WithTimeout(ctx, askTime)
		err := m.prepareFor(soon, room, user)
		if cancel(); err != nil && ctx.Err() == nil {
			m.log.Warn().Err(err).Stringer("room", room).Msg("cannot prepare a verification")
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.guard("verification", f)
}

// prepareFor is prepare for what only one of a room's members need be able to read.
func (m *sender) prepareFor(ctx context.Context, room id.RoomID, user id.UserID) error {
	encrypted, err := m.rooms.IsEncrypted(ctx, room)
	if err != nil || !encrypted {
		return err
	}
	if err := m.members.learnMembers(ctx, room); err != nil {
		return err
	}
	if err := m.people.refreshDevices(ctx, []id.UserID{user}); err != nil {
		return err
	}
	m.mu.Lock()
	devices, err := m.withoutKey(ctx, "", []id.UserID{user})
	if err == nil {
		devices, err = m.store.lacking(ctx, devices)
	}
	if err == nil && len(devices) > 0 { // the present key has not reached them
		err = m.store.RemoveOutboundGroupSession(ctx, room)
	}
	m.mu.Unlock()
	if err != nil {
		return err
	}
	return m.meet(ctx, devices)
}
