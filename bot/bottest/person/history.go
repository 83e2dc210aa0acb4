package person

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"
)

// History asks the server for the whole timeline of the room, oldest first, at most the newest 5,000 events.
func (p *Person) History(ctx context.Context, room string) ([]Msg, error) {
	return p.back(ctx, room, "", func(Msg) bool { return false })
}

// Has reports whether the homeserver has an event of a room. Synapse may have one that History does not show yet;
// Dendrite does not admit to it until then.
func (p *Person) Has(ctx context.Context, room, event string) bool {
	_, err := p.cli.GetEvent(ctx, id.RoomID(room), id.EventID(event))
	return err == nil
}

// back reads the room backwards from a token ("" = its end) to the first event for which stop is true, and returns the
// events in between, oldest first.
func (p *Person) back(ctx context.Context, room, from string, stop func(Msg) bool) ([]Msg, error) {
	var msgs []Msg
	seen := map[string]bool{}
	for len(msgs) < keep {
		resp, err := p.cli.Messages(ctx, id.RoomID(room), from, "", mautrix.DirectionBackward, nil, 200)
		if err != nil {
			return nil, fmt.Errorf("read back in %s: %w", room, err)
		}
		stopped := false
		for _, evt := range resp.Chunk {
			m := p.read(ctx, room, evt)
			if stop(m) {
				stopped = true
				break
			}
			if !seen[m.Event] {
				seen[m.Event] = true
				msgs = append(msgs, m)
			}
		}
		if stopped || resp.End == "" || resp.End == from || len(resp.Chunk) == 0 {
			break
		}
		from = resp.End
	}
	slices.Reverse(msgs)
	return msgs, nil
}

// Raw returns all events of the room as the homeserver has them, encrypted ones unchanged, newest first; 5,000 at most.
// Each is written as Plain does.
func (p *Person) Raw(ctx context.Context, room string) ([]json.RawMessage, error) {
	var out []json.RawMessage
	from := ""
	for len(out) < keep {
		var page struct {
			Chunk []json.RawMessage `json:"chunk"`
			End   string            `json:"end"`
		}
		query := map[string]string{"dir": "b", "limit": "200"}
		if from != "" {
			query["from"] = from
		}
		url := p.cli.BuildURLWithQuery(mautrix.ClientURLPath{"v3", "rooms", room, "messages"}, query)
		if _, err := p.cli.MakeRequest(ctx, "GET", url, nil, &page); err != nil {
			return nil, fmt.Errorf("read back in %s: %w", room, err)
		}
		for _, raw := range page.Chunk {
			out = append(out, Plain(raw))
		}
		if page.End == "" || page.End == from || len(page.Chunk) == 0 {
			break
		}
		from = page.End
	}
	return out, nil
}

// Plain writes JSON as every homeserver might have done it: with sorted keys, and without escapes that are not needed.
func Plain(raw json.RawMessage) json.RawMessage {
	var value any
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	if in.Decode(&value) != nil {
		return raw
	}
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	if to.Encode(value) != nil {
		return raw
	}
	return bytes.TrimSpace(out.Bytes())
}
