package bottest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"matrix-tui/bot/bottest/person"
)

// What may be in clear in the bot's events in an encrypted room: event types that are never encrypted, and fields next
// to the ciphertext.
var (
	openTypes = []string{"m.reaction", "m.room.redaction", "m.room.member", "org.matrix.msc4391.command_description"}
	openKeys  = []string{"algorithm", "ciphertext", "session_id", "sender_key", "device_id", "m.relates_to",
		"io.matrix-tui.txn"}
	openRelation = []string{"rel_type", "event_id", "is_falling_back", "m.in_reply_to"}
)

// forUntrusted are the only messages that must be in clear: they are for devices that get no keys.
var forUntrusted = regexp.MustCompile(`"body":"🔒 (I don't act on messages from|@[^ "]*, I can't act on this message yet:|Can't you read what I write here\?) [^"]*",[^}]*"io.matrix-tui.txn":"[0-9a-f]+-un(trusted|verified)"`)

// open returns what an event in an encrypted room shows in clear that it should not, "" for nothing.
func open(raw json.RawMessage) string {
	var e struct {
		Type    string                     `json:"type"`
		Content map[string]json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return "not an event: " + err.Error()
	}
	if slices.Contains(openTypes, e.Type) || len(e.Content) == 0 { // redacted
		return ""
	}
	if e.Type != "m.room.encrypted" {
		if forUntrusted.Match(raw) {
			return ""
		}
		return "a whole " + e.Type
	}
	for key := range e.Content {
		if !slices.Contains(openKeys, key) {
			return key
		}
	}
	var relation map[string]json.RawMessage
	if rel := e.Content["m.relates_to"]; rel != nil && json.Unmarshal(rel, &relation) != nil {
		return "m.relates_to"
	}
	for key := range relation {
		if !slices.Contains(openRelation, key) {
			return "m.relates_to." + key
		}
	}
	if len(e.Content["ciphertext"]) < 20 {
		return "no ciphertext"
	}
	return ""
}

// openFiles lists the addresses of unencrypted files in a message, and returns the descriptions of encrypted ones.
func openFiles(content any) (clear []string, encrypted []json.RawMessage) {
	switch c := content.(type) {
	case map[string]any:
		if url, ok := c["url"].(string); ok && c["hashes"] != nil && c["key"] != nil && strings.HasPrefix(url, "mxc:") {
			file, _ := json.Marshal(c) // cannot fail: it was JSON a moment ago
			return nil, []json.RawMessage{file}
		}
		for _, key := range slices.Sorted(maps.Keys(c)) {
			more, files := openFiles(c[key])
			clear, encrypted = append(clear, more...), append(encrypted, files...)
		}
	case []any:
		for _, one := range c {
			more, files := openFiles(one)
			clear, encrypted = append(clear, more...), append(encrypted, files...)
		}
	case string:
		if strings.HasPrefix(c, "mxc:") {
			clear = append(clear, c)
		}
	}
	return clear, encrypted
}

// checkEncrypted checks, at the end of a script, every event and file that the bot has sent to an encrypted room, as
// the homeserver has it: all of them must be encrypted. Every room of a script that runs in encrypted rooms must be
// encrypted.
func (sc *script) checkEncrypted(ctx context.Context) error {
	if sc.bot.id == "" || len(sc.rooms) == 0 {
		return nil
	}
	if err := sc.home.Start(ctx); err != nil { // a script may have ended without one
		return err
	}
	var problems []error
	inClear := false
	for name, r := range sc.rooms {
		p := sc.people[r.by]
		events, err := p.Raw(ctx, r.id)
		if err != nil {
			return fmt.Errorf("read all events of %s: %w", name, err)
		}
		since := slices.IndexFunc(events, isEncryption) // the newest event is first
		if since < 0 {
			inClear = true
			if sc.encrypted && !r.clear {
				problems = append(problems, fmt.Errorf("the room %s is not encrypted", name))
			}
			continue
		}
		for _, raw := range events[:since] {
			if what := open(raw); what != "" && bytes.Contains(raw, []byte(`"sender":"`+sc.bot.id+`"`)) {
				problems = append(problems, fmt.Errorf("in the encrypted room %s the bot tells %s in clear: %s", name, what,
					cut(string(raw), 500)))
			}
		}
		problems = append(problems, sc.checkFiles(ctx, p, r.id))
	}
	if !inClear {
		problems = append(problems, sc.checkUploads(ctx))
	}
	return errors.Join(problems...)
}

func isEncryption(raw json.RawMessage) bool {
	return bytes.Contains(raw, []byte(`"type":"m.room.encryption"`))
}

// checkFiles fetches every file that the bot has sent to a room as the homeserver
// has it.
func (sc *script) checkFiles(ctx context.Context, p *person.Person, room string) error {
	msgs, err := p.History(ctx, room)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		var content any
		if m.Sender != sc.bot.id || !m.Encrypted || json.Unmarshal(m.Content, &content) != nil {
			continue
		}
		clear, encrypted := openFiles(content)
		if len(clear) > 0 {
			return fmt.Errorf("the message %q names files that are not encrypted: %v", cut(m.Body, 100), clear)
		}
		for _, file := range encrypted {
			if err := p.CheckEncrypted(ctx, file); err != nil {
				return fmt.Errorf("the message %q: %w", cut(m.Body, 100), err)
			}
		}
	}
	return nil
}

// checkUploads checks everything that the bot has ever uploaded: except for its picture, nothing has a name or a type.
// If answers were lost, or the bot was killed in between, it has uploaded that again, and the other copies are not its
// picture.
func (sc *script) checkUploads(ctx context.Context) error {
	avatar, err := sc.avatar(ctx)
	if err != nil {
		return err
	}
	files, err := sc.home.Uploads(ctx, sc.home.Data(), sc.bot.id)
	if err != nil {
		return err
	}
	for _, file := range files {
		if (sc.lied || sc.drill != nil) && file.Type == "image/png" && file.Name == "" {
			continue
		}
		if file.ID != avatar[strings.LastIndex(avatar, "/")+1:] &&
			(file.Type != "application/octet-stream" || file.Name != "") {
			return fmt.Errorf("the bot has uploaded in clear: %s %s", file.Type, file.Name)
		}
	}
	return nil
}

// avatar is the address of the bot's picture, "" if there is none.
func (sc *script) avatar(ctx context.Context) (string, error) {
	for _, p := range sc.people {
		return p.Avatar(ctx, sc.bot.id)
	}
	return "", errors.New("no person to ask for the picture of the bot")
}
