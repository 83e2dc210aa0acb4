package person

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"path/filepath"
	"regexp"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// Say sends a text message and returns its event ID. It builds the content itself, so that any text is sent unchanged.
func (p *Person) Say(ctx context.Context, room, text string) (string, error) {
	return p.Send(ctx, room, event.EventMessage.Type, map[string]any{
		"msgtype": "m.text", "body": text, "m.mentions": Mentions(text),
	})
}

var userID = regexp.MustCompile(`@[a-z0-9._=/+-]+:[A-Za-z0-9.-]+(?::[0-9]+)?`)

// Mentions returns the users whose IDs occur in a text, as a client that makes pills of them would send.
func Mentions(text string) map[string]any {
	if found := userID.FindAllString(text, -1); found != nil {
		return map[string]any{"user_ids": found}
	}
	return map[string]any{}
}

// Reply answers a message.
func (p *Person) Reply(ctx context.Context, room, to, text string) (string, error) {
	return p.Send(ctx, room, event.EventMessage.Type, map[string]any{
		"msgtype": "m.text", "body": text, "m.mentions": Mentions(text),
		"m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": to}},
	})
}

// ReplyOutside is Reply with the relation outside the ciphertext only: some clients send it so, and a homeserver can
// add one to any message.
func (p *Person) ReplyOutside(ctx context.Context, room, to, text string) (string, error) {
	p.crypt.mu.Lock()
	defer p.crypt.mu.Unlock()
	if err := p.prepare(ctx, id.RoomID(room)); err != nil {
		return "", err
	}
	content, err := p.cli.Crypto.Encrypt(ctx, id.RoomID(room), event.EventMessage,
		map[string]any{"msgtype": "m.text", "body": text, "m.mentions": Mentions(text)})
	if err != nil {
		return "", fmt.Errorf("encrypt for %s: %w", room, err)
	}
	content.RelatesTo = (&event.RelatesTo{}).SetReplyTo(id.EventID(to))
	return p.send(ctx, room, event.EventEncrypted.Type, content, mautrix.ReqSendEvent{})
}

// Edit replaces the text of an own message; for a file, its caption.
func (p *Person) Edit(ctx context.Context, room, target, text string) (string, error) {
	content, err := p.edited(room, target, text)
	if err != nil {
		return "", err
	}
	return p.Send(ctx, room, event.EventMessage.Type, content)
}

// EditClear is Edit in clear, even in an encrypted room.
func (p *Person) EditClear(ctx context.Context, room, target, text string) (string, error) {
	content, err := p.edited(room, target, text)
	if err != nil {
		return "", err
	}
	return p.SendClear(ctx, room, event.EventMessage.Type, content)
}

func (p *Person) edited(room, target, text string) (map[string]any, error) {
	fresh := map[string]any{"msgtype": "m.text"}
	for _, m := range p.Messages(room) {
		if m.Event == target && (m.URL != "" || m.File != nil) {
			if err := json.Unmarshal(m.Content, &fresh); err != nil {
				return nil, fmt.Errorf("read the message to edit: %w", err)
			}
		}
	}
	fresh["body"], fresh["m.mentions"] = text, map[string]any{}
	content := maps.Clone(fresh)
	content["body"], content["m.new_content"] = "* "+text, fresh
	content["m.relates_to"] = map[string]any{"rel_type": "m.replace", "event_id": target}
	return content, nil
}

// React adds a reaction (an emoji) to a message.
func (p *Person) React(ctx context.Context, room, target, key string) (string, error) {
	return p.Send(ctx, room, event.EventReaction.Type, map[string]any{
		"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": target, "key": key},
	})
}

// Redact removes the content of an event.
func (p *Person) Redact(ctx context.Context, room, target string) (string, error) {
	resp, err := p.cli.RedactEvent(ctx, id.RoomID(room), id.EventID(target))
	if err != nil {
		return "", fmt.Errorf("redact %s: %w", target, err)
	}
	return resp.EventID.String(), nil
}

// Upload sends a file as m.file, m.image, m.audio or m.video by its extension.
func (p *Person) Upload(ctx context.Context, room, name string, data []byte) (string, error) {
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	content := map[string]any{
		"msgtype": msgtype(kind), "body": name, "filename": name, "m.mentions": map[string]any{},
		"info": map[string]any{"mimetype": kind, "size": len(data)},
	}
	if err := p.upload(ctx, room, name, kind, data, content); err != nil {
		return "", err
	}
	return p.Send(ctx, room, event.EventMessage.Type, content)
}

// msgtype returns the Matrix message type for a MIME type.
func msgtype(kind string) string {
	for prefix, t := range map[string]string{"image/": "m.image", "audio/": "m.audio", "video/": "m.video"} {
		if len(kind) > len(prefix) && kind[:len(prefix)] == prefix {
			return t
		}
	}
	return "m.file"
}

// Notice sends an m.notice: what a bot would say, and what no bot may answer.
func (p *Person) Notice(ctx context.Context, room, text string) (string, error) {
	return p.Send(ctx, room, event.EventMessage.Type, map[string]any{
		"msgtype": "m.notice", "body": text, "m.mentions": map[string]any{},
	})
}
