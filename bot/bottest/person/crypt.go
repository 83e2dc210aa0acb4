package person

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"matrix-tui/bot/matrix/e2ee"
)

// openKeys opens the session's encryption, where it has one.
func (p *Person) openKeys(ctx context.Context, cfg Config) error {
	if cfg.Keys == "" {
		return nil
	}
	if p.cli.Client == nil {
		p.cli.Client = &http.Client{}
	}
	p.sas = make(chan e2ee.SAS, 1)
	p.holding.to = p.cli.Client.Transport
	if p.holding.to == nil {
		p.holding.to = http.DefaultTransport
	}
	p.cli.Client.Transport = &p.holding
	m, err := e2ee.Open(ctx, e2ee.Config{
		Client: p.cli, Dir: cfg.Keys, Password: cfg.Password, NoCrossSigning: !cfg.Signed, AllDevices: true, Log: cfg.Log,
		KeyCame: func(e2ee.Key) { p.keyCame = true },
		ShowSAS: func(s e2ee.SAS) {
			select {
			case p.sas <- s:
			default:
			}
		},
	})
	if err != nil {
		return err
	}
	p.keys = m
	return nil
}

// takeKeys gives the encryption what a sync brought. It runs in the sync loop.
func (p *Person) takeKeys(ctx context.Context, resp *mautrix.RespSync, initial bool) error {
	if p.keys == nil {
		return nil
	}
	s, err := e2ee.FromResponse(resp)
	if err != nil {
		return err
	}
	if err := p.keys.TakeSync(ctx, s, initial); err != nil {
		return err
	}
	for room, joined := range resp.Rooms.Join {
		state, err := e2ee.Raw(joined.State.Events)
		if err != nil {
			return err
		}
		timeline, err := e2ee.Raw(joined.Timeline.Events)
		if err != nil {
			return err
		}
		if err := p.keys.TakeState(ctx, room.String(), joined.Timeline.Limited, append(state, timeline...)); err != nil {
			return err
		}
	}
	return nil
}

// read decodes an event, decrypted where that can be done.
func (p *Person) read(ctx context.Context, room string, evt *event.Event) Msg {
	if p.keys == nil || evt.Type.Type != event.EventEncrypted.Type {
		return decode(room, evt)
	}
	raws, err := e2ee.Raw([]*event.Event{evt})
	if err != nil {
		return decode(room, evt)
	}
	raw, err := p.keys.Decrypt(ctx, room, raws[0])
	var plain event.Event
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		p.log.Debug().Err(err).Str("user", p.ID()).Stringer("event", evt.ID).Msg("decrypt")
		return decode(room, evt)
	}
	m := decode(room, &plain)
	m.Encrypted = true
	return m
}

// reread decrypts what could not be read before its key came. It runs in the
// sync loop.
func (p *Person) reread(ctx context.Context) {
	if !p.keyCame {
		return
	}
	p.keyCame = false
	for id, evt := range p.sealed {
		m := p.read(ctx, evt.RoomID.String(), evt)
		if !m.Encrypted {
			continue
		}
		delete(p.sealed, id)
		p.mu.Lock()
		p.room(m.Room).replace(m)
		p.redone++
		p.mu.Unlock()
	}
}

// noteSealed keeps an event that could not be decrypted, for reread.
func (p *Person) noteSealed(room string, evt *event.Event, m Msg) {
	if p.keys == nil || m.Type != event.EventEncrypted.Type || len(p.sealed) >= keep {
		return
	}
	evt.RoomID = id.RoomID(room)
	p.sealed[evt.ID] = evt
}

// replace puts m in the place of the event that was seen before.
func (t *timeline) replace(m Msg) {
	for i := range t.msgs {
		if t.msgs[i].Event == m.Event {
			t.msgs[i] = m
		}
	}
}

// Send sends an event of any type, encrypted where the room is.
func (p *Person) Send(ctx context.Context, room, kind string, content any) (string, error) {
	if p.keys != nil {
		data, err := json.Marshal(content)
		if err != nil {
			return "", fmt.Errorf("write %s: %w", kind, err)
		}
		sealed := kind
		if sealed, data, err = p.keys.Encrypt(ctx, room, kind, data); err != nil {
			return "", err
		}
		kind, content = sealed, json.RawMessage(data)
	}
	resp, err := p.cli.SendMessageEvent(ctx, id.RoomID(room), event.NewEventType(kind), content)
	if err != nil {
		return "", fmt.Errorf("send %s to %s: %w", kind, room, err)
	}
	return resp.EventID.String(), nil
}

// Encryption makes a room an encrypted one, for good.
func (p *Person) Encryption(ctx context.Context, room string) error {
	_, err := p.cli.SendStateEvent(ctx, id.RoomID(room), event.StateEncryption, "", &event.EncryptionEventContent{Algorithm: id.AlgorithmMegolmV1})
	if err != nil {
		return fmt.Errorf("encrypt room %s: %w", room, err)
	}
	return nil
}

// Raw are all events of the room as the homeserver has them, encrypted ones as
// they are, newest first; 5,000 at most.
func (p *Person) Raw(ctx context.Context, room string) ([]json.RawMessage, error) {
	var out []json.RawMessage
	from := ""
	for len(out) < keep {
		resp, err := p.cli.Messages(ctx, id.RoomID(room), from, "", mautrix.DirectionBackward, nil, 200)
		if err != nil {
			return nil, fmt.Errorf("read back in %s: %w", room, err)
		}
		raws, err := e2ee.Raw(resp.Chunk)
		if err != nil {
			return nil, err
		}
		out = append(out, raws...)
		if resp.End == "" || resp.End == from || len(resp.Chunk) == 0 {
			break
		}
		from = resp.End
	}
	return out, nil
}

// Download fetches the file of a message, and decrypts it.
func (p *Person) Download(ctx context.Context, m Msg) ([]byte, error) {
	uri, err := id.ParseContentURI(m.URL)
	if err != nil {
		return nil, fmt.Errorf("read address %q: %w", m.URL, err)
	}
	data, err := p.cli.DownloadBytes(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", m.URL, err)
	}
	if len(m.File) > 0 {
		if err := e2ee.DecryptFile(m.File, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Sealed tells by an error when the file of an encrypted message is not there as
// its description says, or lies on the homeserver as it is.
func (p *Person) Sealed(ctx context.Context, file json.RawMessage) error {
	var f struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		return fmt.Errorf("read description of encrypted file: %w", err)
	}
	outer, err := p.Download(ctx, Msg{URL: f.URL})
	if err != nil {
		return err
	}
	inner, err := p.Download(ctx, Msg{URL: f.URL, File: file})
	if err != nil {
		return err
	}
	if len(inner) > 0 && bytes.Equal(outer, inner) {
		return fmt.Errorf("%s is not encrypted", f.URL)
	}
	return nil
}

// Avatar is the mxc address of a user's picture, "" when there is none.
func (p *Person) Avatar(ctx context.Context, user string) (string, error) {
	uri, err := p.cli.GetAvatarURL(ctx, id.UserID(user))
	if err != nil || uri.IsEmpty() {
		return "", err
	}
	return uri.String(), nil
}

// upload puts a file on the homeserver and adds where it is to the content of
// its message.
func (p *Person) upload(ctx context.Context, room, name, kind string, data []byte, content map[string]any) error {
	encrypted := false
	if p.keys != nil {
		var err error
		if encrypted, err = p.keys.IsEncrypted(ctx, room); err != nil {
			return err
		}
	}
	req := mautrix.ReqUploadMedia{ContentBytes: data, ContentLength: int64(len(data)), ContentType: kind, FileName: name}
	var file json.RawMessage
	if encrypted {
		req.ContentBytes = append([]byte{}, data...)
		req.ContentType, req.FileName = "application/octet-stream", ""
		var err error
		if file, err = e2ee.EncryptFile(req.ContentBytes); err != nil {
			return err
		}
	}
	media, err := p.cli.UploadMedia(ctx, req)
	if err != nil {
		return fmt.Errorf("upload %s: %w", name, err)
	}
	if !encrypted {
		content["url"] = media.ContentURI.String()
		return nil
	}
	content["file"], err = e2ee.FileAt(file, media.ContentURI.String())
	return err
}

// Verify starts the verification of a user, in a room or, where room is "", from
// device to device, and returns the emojis that the other side must show too.
// This side confirms them.
func (p *Person) Verify(ctx context.Context, room, user string) ([]string, error) {
	if err := p.keys.Verify(ctx, room, user); err != nil {
		return nil, err
	}
	select {
	case s := <-p.sas:
		return s.Emojis, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("verify %s: %w", user, ctx.Err())
	}
}

// takeVerification gives the encryption what belongs to a verification in a
// room. It runs in the sync loop.
func (p *Person) takeVerification(ctx context.Context, m Msg) {
	if p.keys == nil || !strings.HasPrefix(m.Type, "m.key.verification.") {
		return
	}
	raw, err := json.Marshal(map[string]any{"event_id": m.Event, "type": m.Type, "sender": m.Sender, "content": m.Content})
	if err == nil {
		p.keys.TakeVerification(ctx, m.Room, raw)
	}
}
