package person

import (
	"context"
	"fmt"
	"strings"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/crypto/verificationhelper"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// verifier takes part in verifications that this session has started, and in no others. It confirms the emojis it is
// shown: the script compares them. crypt's lock is held in all methods below.
type verifier struct {
	cli    *mautrix.Client
	mach   *crypto.OlmMachine
	helper *verificationhelper.VerificationHelper
	store  verificationhelper.VerificationStore
	syncer *mautrix.DefaultSyncer // holds the helper's handlers
	sas    chan []string

	ours map[id.VerificationTransactionID]bool
	todo []func(context.Context) error // work for callbacks, which run under the helper's lock
}

func newVerifier(ctx context.Context, cli *mautrix.Client, mach *crypto.OlmMachine) (*verifier, error) {
	v := &verifier{
		cli: cli, mach: mach, store: verificationhelper.NewInMemoryVerificationStore(), syncer: mautrix.NewDefaultSyncer(),
		sas: make(chan []string, 1), ours: map[id.VerificationTransactionID]bool{},
	}
	v.helper = verificationhelper.NewVerificationHelper(cli, mach, v.store, v, false, false, true)
	usual := cli.Syncer
	cli.Syncer = v.syncer // Init adds its handlers to it
	defer func() { cli.Syncer = usual }()
	return v, v.helper.Init(ctx)
}

// take passes an event of a verification that was started here to the helper: a to-device event, or a decrypted event
// of a room.
func (v *verifier) take(ctx context.Context, evt *event.Event) {
	if !strings.HasPrefix(evt.Type.Type, "m.key.verification.") || evt.Sender == v.cli.UserID {
		return
	}
	var txn id.VerificationTransactionID
	if c, ok := evt.Content.Parsed.(event.VerificationTransactionable); ok {
		txn = c.GetTransactionID()
	}
	if c, ok := evt.Content.Parsed.(event.Relatable); ok && evt.RoomID != "" && c.OptionalGetRelatesTo() != nil {
		txn = id.VerificationTransactionID(c.OptionalGetRelatesTo().EventID)
	}
	if !v.ours[txn] {
		return
	}
	given := *evt
	if given.RoomID != "" {
		given.ID = id.EventID(txn) // the helper uses the event's own ID as the transaction's
	}
	v.syncer.Dispatch(ctx, &given)
	for len(v.todo) > 0 {
		act := v.todo[0]
		v.todo = v.todo[1:]
		if err := act(ctx); err != nil {
			v.cli.Log.Warn().Err(err).Msg("verification does not go on")
		}
	}
}

// Verify starts the verification of a user, in a room or, if room is "", from device to device, and returns the emojis
// that the other side must also show. This side confirms them.
func (p *Person) Verify(ctx context.Context, room, user string) ([]string, error) {
	v := p.crypt.verify
	if err := p.startVerification(ctx, id.RoomID(room), id.UserID(user)); err != nil {
		return nil, fmt.Errorf("verify %s: %w", user, err)
	}
	select {
	case emojis := <-v.sas:
		return emojis, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("verify %s: %w", user, ctx.Err())
	}
}

func (p *Person) startVerification(ctx context.Context, room id.RoomID, user id.UserID) error {
	v := p.crypt.verify
	p.crypt.mu.Lock() // an answer waits until the transaction is known
	defer p.crypt.mu.Unlock()
	if _, err := v.mach.FetchKeys(ctx, []id.UserID{user}, true); err != nil {
		return err
	}
	if room == "" {
		txn, err := v.helper.StartVerification(ctx, user)
		v.ours[txn] = true
		return err
	}
	// The request is in clear even in an encrypted room, as Element sends it; the helper's StartInRoomVerification
	// encrypts it twice. The rest is encrypted.
	if err := p.prepare(ctx, room); err != nil {
		return err
	}
	event, err := p.SendClear(ctx, room.String(), event.EventMessage.Type, &event.MessageEventContent{
		MsgType: event.MsgVerificationRequest, Body: "Verify this device: your client does not know how.", To: user,
		FromDevice: v.cli.DeviceID, Methods: []event.VerificationMethod{event.VerificationMethodSAS},
	})
	if err != nil {
		return err
	}
	txn := id.VerificationTransactionID(event)
	v.ours[txn] = true
	state := verificationhelper.VerificationTransaction{
		RoomID: room, TheirUserID: user, TransactionID: txn, VerificationState: verificationhelper.VerificationStateRequested,
	}
	state.ExpirationTime.Time = time.Now().Add(10 * time.Minute)
	return v.store.SaveVerificationTransaction(ctx, state)
}

// The methods below are called by the helper.

// VerificationRequested is for verifications that others start: none is accepted.
func (v *verifier) VerificationRequested(context.Context, id.VerificationTransactionID, id.UserID, id.DeviceID) {
}

// VerificationReady continues with the emojis.
func (v *verifier) VerificationReady(_ context.Context, txn id.VerificationTransactionID, _ id.DeviceID, sas, _ bool,
	_ *verificationhelper.QRCode) {
	if sas {
		v.todo = append(v.todo, func(ctx context.Context) error { return v.helper.StartSAS(ctx, txn) })
	}
}

// VerificationCancelled does nothing: the script notices when its wait times out.
func (v *verifier) VerificationCancelled(context.Context, id.VerificationTransactionID, event.VerificationCancelCode,
	string) {
}

// VerificationDone does nothing: the bot's log says so too.
func (v *verifier) VerificationDone(context.Context, id.VerificationTransactionID, event.VerificationMethod) {
}

// ShowSAS passes the emojis to Verify and confirms them.
func (v *verifier) ShowSAS(_ context.Context, txn id.VerificationTransactionID, emojis []rune, names []string,
	_ []int) {
	var shown []string
	for i, emoji := range emojis {
		shown = append(shown, string(emoji)+" "+names[i])
	}
	select {
	case v.sas <- shown:
	default:
	}
	v.todo = append(v.todo, func(ctx context.Context) error { return v.helper.ConfirmSAS(ctx, txn) })
}

// takeVerification passes a room's verification events to the verifier. It runs in the sync loop.
func (p *Person) takeVerification(ctx context.Context, room string, evt *event.Event) {
	if p.crypt == nil {
		return
	}
	if plain := p.decrypt(ctx, room, evt); plain != nil {
		evt = plain
	}
	p.crypt.mu.Lock()
	defer p.crypt.mu.Unlock()
	p.crypt.verify.take(ctx, evt)
}
