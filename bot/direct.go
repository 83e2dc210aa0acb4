package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"matrix-tui/bot/matrix"
	"matrix-tui/state/retry"
)

// directType is the account data that says which rooms are direct chats
// (https://spec.matrix.org/v1.11/client-server-api/#direct-messaging).
const directType = "m.direct"

// directs are the rooms that are direct chats: what m.direct says, in our own
// account data, which the homeserver keeps.
type directs struct {
	mu    sync.Mutex
	users map[string][]string // rooms by user
}

// take replaces what is known with the content of an m.direct event. Content of
// another shape says nothing.
func (d *directs) take(content json.RawMessage) {
	var users map[string][]string
	if json.Unmarshal(content, &users) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users = users
}

// with is a copy with a room of a user added; changed is false when it is there.
func (d *directs) with(user, room string) (users map[string][]string, changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.users[user], room) {
		return nil, false
	}
	users = map[string][]string{}
	maps.Copy(users, d.users)
	users[user] = append(slices.Clone(users[user]), room)
	return users, true
}

// user is with whom a room is a direct chat, "" when it is none.
func (d *directs) user(room string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for user, rooms := range d.users {
		if slices.Contains(rooms, room) {
			return user
		}
	}
	return ""
}

// isDirect tells whether a room is a direct chat with one person.
func (b *Bot) isDirect(room string) bool { return b.direct.user(room) != "" }

// loadDirects asks the homeserver which rooms are direct chats; while it does
// not answer it is asked again. Afterwards /sync tells what changes.
func (b *Bot) loadDirects(ctx context.Context) error {
	for again := retry.New(time.Second, 30*time.Second); ; {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		content, err := b.account.AccountData(call, directType)
		cancel()
		if err == nil {
			b.direct.take(content)
			return nil
		}
		if !matrix.Transient(err) {
			if !matrix.IsNotFound(err) {
				b.log.Warn().Err(err).Msg("read direct chats")
			}
			return nil
		}
		if err := again.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// markDirect remembers a room as a direct chat with a user.
func (b *Bot) markDirect(ctx context.Context, user, room string) error {
	users, changed := b.direct.with(user, room)
	if !changed {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := b.account.SetAccountData(call, directType, users); err != nil {
		return fmt.Errorf("remember direct chat: %w", err)
	}
	content, err := json.Marshal(users)
	if err != nil {
		return fmt.Errorf("marshal direct chats: %w", err)
	}
	b.direct.take(content)
	return nil
}
