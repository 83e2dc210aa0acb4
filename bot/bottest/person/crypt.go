package person

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/crypto/cryptohelper"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// crypt is the encryption of a session: mautrix's own, without the bot's code. Its keys are in memory and end with the
// session.
type crypt struct {
	helper *cryptohelper.CryptoHelper
	mach   *crypto.OlmMachine
	syncer *mautrix.DefaultSyncer // input of the helper
	verify *verifier

	mu sync.Mutex // locked around each use of the machine, which is not safe for concurrent use

	keyCame     bool                        // used only by the sync loop
	undecrypted map[id.EventID]*event.Event // events that could not be decrypted; used only by the sync loop
	readers     map[id.RoomID][]id.UserID   // recipients of the room's key; guarded by mu
}

// quietSyncer is a syncer to which the helper cannot dispatch events: the timeline decrypts in its own order.
type quietSyncer struct {
	mautrix.Syncer
	mautrix.ExtensibleSyncer
}

// openKeys enables the session to read and write encrypted rooms.
func (p *Person) openKeys(ctx context.Context, cfg Config) error {
	if cfg.Keys == NoKeys {
		return nil
	}
	if p.cli.Client == nil {
		p.cli.Client = &http.Client{}
	}
	p.holding.to = p.cli.Client.Transport
	if p.holding.to == nil {
		p.holding.to = http.DefaultTransport
	}
	p.cli.Client.Transport = &p.holding
	syncer := mautrix.NewDefaultSyncer()
	p.cli.Syncer, p.cli.StateStore = quietSyncer{syncer, syncer},
		&rooms{mautrix.NewMemoryStateStore().(*mautrix.MemoryStateStore)}
	syncer.OnEvent(p.cli.StateStoreSyncHandler)
	helper, err := cryptohelper.NewCryptoHelper(p.cli, []byte("in memory"),
		&keyStore{MemoryStore: crypto.NewMemoryStore(nil)})
	if err != nil {
		return err
	}
	if err := helper.Init(ctx); err != nil {
		return err
	}
	p.cli.Crypto = helper
	c := &crypt{
		helper: helper, mach: helper.Machine(), syncer: syncer,
		undecrypted: map[id.EventID]*event.Event{}, readers: map[id.RoomID][]id.UserID{},
	}
	c.mach.SessionReceived = func(context.Context, id.RoomID, id.SessionID, uint32) { c.keyCame = true }
	if cfg.Keys == SignedKeys {
		if p.recovery, err = c.sign(ctx, cfg.Password, cfg.Recovery); err != nil {
			return err
		}
	}
	if c.verify, err = newVerifier(ctx, p.cli, c.mach); err != nil {
		return err
	}
	p.crypt = c
	return nil
}

// sign signs this device with the account's cross-signing identity, which it creates without a recovery key.
func (c *crypt) sign(ctx context.Context, password, recovery string) (string, error) {
	if recovery == "" {
		var err error
		if recovery, _, err = c.mach.GenerateAndUploadCrossSigningKeysWithPassword(ctx, password, ""); err != nil {
			return "", fmt.Errorf("create cross-signing keys: %w", err)
		}
	}
	if err := c.mach.VerifyWithRecoveryKey(ctx, recovery); err != nil {
		return "", fmt.Errorf("sign own device: %w", err)
	}
	return recovery, nil
}

// Sign makes the account's identity sign another of its devices, as a verification does.
func (p *Person) Sign(ctx context.Context, other *Person) error {
	p.crypt.mu.Lock()
	defer p.crypt.mu.Unlock()
	devices, err := p.crypt.mach.FetchKeys(ctx, []id.UserID{p.cli.UserID}, true)
	if err != nil {
		return fmt.Errorf("fetch own devices: %w", err)
	}
	device := devices[p.cli.UserID][other.cli.DeviceID]
	if device == nil {
		return fmt.Errorf("%s has no device %s", p.ID(), other.cli.DeviceID)
	}
	return p.crypt.mach.SignOwnDevice(ctx, device)
}

// rooms keeps copies of memberships. mautrix's own store keeps the event's content, and changes it when this client
// joins, invites or creates a room, while its sync may still be reading that event.
type rooms struct{ *mautrix.MemoryStateStore }

// SetMember is part of mautrix.StateStore.
//
//lint:hides it is this method, with a copy
func (r *rooms) SetMember(ctx context.Context, room id.RoomID, user id.UserID, member *event.MemberEventContent) error {
	own := *member
	return r.MemoryStateStore.SetMember(ctx, room, user, &own)
}

// takeKeys passes a sync's keys to the encryption. It runs in the sync loop.
func (p *Person) takeKeys(ctx context.Context, resp *mautrix.RespSync, since string) error {
	if p.crypt == nil {
		return nil
	}
	p.crypt.mu.Lock()
	defer p.crypt.mu.Unlock()
	if err := p.crypt.syncer.ProcessResponse(ctx, resp, since); err != nil {
		return err
	}
	for _, evt := range resp.ToDevice.Events {
		p.crypt.verify.take(ctx, evt)
	}
	return nil
}

// read decodes an event, decrypted if possible.
func (p *Person) read(ctx context.Context, room string, evt *event.Event) Msg {
	if plain := p.decrypt(ctx, room, evt); plain != nil {
		m := decode(room, plain)
		m.Encrypted = true
		return m
	}
	return decode(room, evt)
}

// decrypt returns the decrypted event, nil if it is not encrypted or this session has no key.
func (p *Person) decrypt(ctx context.Context, room string, evt *event.Event) *event.Event {
	if p.crypt == nil || evt.Type.Type != event.EventEncrypted.Type || evt.StateKey != nil {
		return nil
	}
	evt.RoomID, evt.Type.Class = id.RoomID(room), event.MessageEventType
	if evt.Content.Parsed == nil {
		if err := evt.Content.ParseRaw(evt.Type); err != nil {
			return nil
		}
	}
	p.crypt.mu.Lock()
	plain, err := p.crypt.helper.Decrypt(ctx, evt)
	p.crypt.mu.Unlock()
	if err != nil {
		p.log.Debug().Err(err).Str("user", p.ID()).Stringer("event", evt.ID).Msg("decrypt")
		return nil
	}
	return plain
}

// reread decrypts events whose keys have arrived since. It runs in the sync loop.
func (p *Person) reread(ctx context.Context) {
	if p.crypt == nil || !p.crypt.keyCame {
		return
	}
	p.crypt.keyCame = false
	for id, evt := range p.crypt.undecrypted {
		m := p.read(ctx, evt.RoomID.String(), evt)
		if !m.Encrypted {
			continue
		}
		delete(p.crypt.undecrypted, id)
		p.mu.Lock()
		p.room(m.Room).replace(m)
		p.redone++
		p.mu.Unlock()
	}
}

// keepUndecrypted keeps an undecryptable event for reread.
func (p *Person) keepUndecrypted(room string, evt *event.Event, m Msg) {
	if p.crypt == nil || m.Type != event.EventEncrypted.Type || len(p.crypt.undecrypted) >= keep {
		return
	}
	evt.RoomID = id.RoomID(room)
	p.crypt.undecrypted[evt.ID] = evt
}

// replace puts m in the place of the same event seen before.
func (t *timeline) replace(m Msg) {
	for i := range t.msgs {
		if t.msgs[i].Event == m.Event {
			t.msgs[i] = m
		}
	}
}

// prepare asks the server, before something is sent to a room, whether it is encrypted, who is in it and which devices
// they have, because a script is faster than its own sync. p.crypt.mu is held.
func (p *Person) prepare(ctx context.Context, room id.RoomID) error {
	if _, err := p.cli.State(ctx, room); err != nil {
		return fmt.Errorf("ask for the state of %s: %w", room, err)
	}
	if encrypted, err := p.cli.StateStore.IsEncrypted(ctx, room); err != nil || !encrypted {
		return err
	}
	users, err := p.cli.StateStore.GetRoomJoinedOrInvitedMembers(ctx, room)
	if err != nil {
		return err
	}
	slices.Sort(users)
	if !slices.Equal(users, p.crypt.readers[room]) {
		if err := p.crypt.mach.CryptoStore.RemoveOutboundGroupSession(ctx, room); err != nil {
			return err
		}
		p.crypt.readers[room] = users
	}
	if _, err := p.crypt.mach.FetchKeys(ctx, users, true); err != nil {
		return fmt.Errorf("ask for the keys of who is in %s: %w", room, err)
	}
	return nil
}

// Send sends an event of any type, encrypted if the room is.
func (p *Person) Send(ctx context.Context, room, kind string, content any) (string, error) {
	if p.crypt != nil {
		p.crypt.mu.Lock()
		defer p.crypt.mu.Unlock()
	}
	return p.sendLocked(ctx, room, kind, content)
}

func (p *Person) sendLocked(ctx context.Context, room, kind string, content any) (string, error) {
	if p.crypt != nil {
		if err := p.prepare(ctx, id.RoomID(room)); err != nil {
			return "", err
		}
	}
	return p.send(ctx, room, kind, content, mautrix.ReqSendEvent{})
}

// SendClear sends an event in clear, even to an encrypted room, as a broken client does.
func (p *Person) SendClear(ctx context.Context, room, kind string, content any) (string, error) {
	return p.send(ctx, room, kind, content, mautrix.ReqSendEvent{DontEncrypt: true})
}

func (p *Person) send(ctx context.Context, room, kind string, content any, how mautrix.ReqSendEvent) (string, error) {
	resp, err := p.cli.SendMessageEvent(ctx, id.RoomID(room), event.NewEventType(kind), content, how)
	if err != nil {
		return "", fmt.Errorf("send %s to %s: %w", kind, room, err)
	}
	return resp.EventID.String(), nil
}

// Encryption makes a room encrypted, permanently.
func (p *Person) Encryption(ctx context.Context, room string) error {
	_, err := p.cli.SendStateEvent(ctx, id.RoomID(room), event.StateEncryption, "",
		&event.EncryptionEventContent{Algorithm: id.AlgorithmMegolmV1})
	if err != nil {
		return fmt.Errorf("encrypt room %s: %w", room, err)
	}
	return nil
}
